import { eventLoopSampleMs } from '../limits.ts';

/** Reports whether the event loop was late twice in a row: then other work than incoming requests keeps it busy. */
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
