/**
 * One look at the store for all reads that begin in one turn of the event loop. It comes at the end of the turn, so that it is
 * new enough for each of them, also for a request that arrived late in the turn. A look at the beginning would not be: since
 * then another process may have acknowledged a write, and this request may come from a client that knows of it.
 */
export class SharedLook {
  readonly #look: () => void;
  #pending: Promise<void> | undefined;

  constructor(look: () => void) {
    this.#look = look;
  }

  /** Resolves after the look, in the same turn; rejects with what it throws. */
  taken(): Promise<void> {
    this.#pending ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        this.#pending = undefined;
        try {
          this.#look();
          resolve();
        } catch (error) {
          reject(error);
        }
      });
    });
    return this.#pending;
  }
}
