import { refreshDelayMsMax, repairMsMax } from '../limits.ts';

interface Pending extends PromiseWithResolvers<void> {
  /** When the first read began to wait, in milliseconds of `performance.now()`. */
  readonly since: number;
}

/**
 * Shares one refresh of the snapshot among all reads that begin in the same turn of the event loop. The refresh runs at the end of the
 * turn, so that it is recent enough for every read, including one that began late in the turn. A refresh at the start of the turn would
 * be too old: another process may have acknowledged a write since then, and a later request may come from a client that saw it.
 *
 * With many connections a turn can last long. The first read after `refreshDelayMsMax` then runs the refresh itself.
 */
export class SnapshotRefresh {
  readonly #refresh: () => Promise<void> | undefined;
  #pending: Pending | undefined;

  /** @param refresh returns a promise if the refresh must wait, and nothing if it is done */
  constructor(refresh: () => Promise<void> | undefined) {
    this.#refresh = refresh;
  }

  /** Resolves when the refresh is done, in the same turn. Rejects with the error of the refresh. */
  done(): Promise<void> {
    const pending = this.#pending ?? this.#begin();
    if (performance.now() - pending.since > refreshDelayMsMax) this.#run(pending);
    return pending.promise;
  }

  #begin(): Pending {
    const pending = { ...Promise.withResolvers<void>(), since: performance.now() };
    this.#pending = pending;
    setImmediate(() => this.#run(pending));
    return pending;
  }

  #run(pending: Pending): void {
    if (this.#pending !== pending) return;
    this.#pending = undefined;
    try {
      const refreshing = this.#refresh();
      if (refreshing === undefined) pending.resolve();
      else refreshing.then(pending.resolve, pending.reject);
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
