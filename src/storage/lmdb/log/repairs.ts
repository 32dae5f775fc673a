import { repairMsMax } from '../limits.ts';

/** Reads that wait for a transaction which changes nothing: see `repairMessage` in writer.ts. */
export class Repairs {
  readonly #ask: () => void;
  /** In the order in which they asked. */
  readonly #waiting: (() => void)[] = [];

  /** @param ask asks the writer for a transaction; it answers in the same order */
  constructor(ask: () => void) {
    this.#ask = ask;
  }

  /** Resolves after a transaction that begins after this call, and after `repairMsMax` at the latest. */
  async repaired(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    const late = setTimeout(resolve, repairMsMax);
    this.#ask();
    await promise;
    clearTimeout(late);
  }

  /** Call it with each answer. */
  answered(): void {
    this.#waiting.shift()?.();
  }
}
