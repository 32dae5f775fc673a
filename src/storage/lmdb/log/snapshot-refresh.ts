import { lookDelayMsMax, repairMsMax } from '../limits.ts';

interface Pending extends PromiseWithResolvers<void> {
  /** When the first read began to wait, in milliseconds of `performance.now()`. */
  readonly since: number;
}

/**
 * One look at the store for all reads that begin in one turn of the event loop. It comes at the end of the turn, so that it is
 * new enough for each of them, also for a request that arrived late in the turn. A look at the beginning would not be: since
 * then another process may have acknowledged a write, and this request may come from a client that knows of it.
 *
 * With very many connections a turn may last long: then the look comes with the first read after `lookDelayMsMax`.
 */
export class SharedLook {
  readonly #look: () => Promise<void> | undefined;
  #pending: Pending | undefined;

  /** @param look returns a promise when the look must wait, which resolves right after it */
  constructor(look: () => Promise<void> | undefined) {
    this.#look = look;
  }

  /** Resolves right after the look, in the same turn; rejects with what it throws. */
  taken(): Promise<void> {
    const pending = this.#pending ?? this.#begin();
    if (performance.now() - pending.since > lookDelayMsMax) this.#take(pending);
    return pending.promise;
  }

  #begin(): Pending {
    const pending = { ...Promise.withResolvers<void>(), since: performance.now() };
    this.#pending = pending;
    setImmediate(() => this.#take(pending));
    return pending;
  }

  #take(pending: Pending): void {
    if (this.#pending !== pending) return;
    this.#pending = undefined;
    try {
      const look = this.#look();
      if (look === undefined) pending.resolve();
      else look.then(pending.resolve, pending.reject);
    } catch (error) {
      pending.reject(error);
    }
  }
}

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
