import { eventLoopSampleMs } from '../limits.ts';

/** Whether the event loop was late twice in a row: then it has more to do than requests bring at the door. */
export class EventLoopDelay {
  isLate = false;
  readonly #sampling: NodeJS.Timeout;

  constructor(delayMsMax: number) {
    let wasLate = false;
    let last = performance.now();
    this.#sampling = setInterval(() => {
      const now = performance.now();
      const isLate = now - last - eventLoopSampleMs > delayMsMax;
      this.isLate = isLate && wasLate;
      wasLate = isLate;
      last = now;
    }, eventLoopSampleMs).unref();
  }

  close(): void {
    clearInterval(this.#sampling);
  }
}
