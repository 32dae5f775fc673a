import { recoveryChargesMax } from '../limits.ts';

/** The due charges and refunds of one processor. Runs at most `recoveryChargesMax` at once; the others wait. */
export class RecoveryQueue<Due extends { readonly id: string }> {
  readonly #work: (due: Due) => Promise<void>;
  readonly #running = new Set<string>();
  #waiting: Due[] = [];
  #signal: AbortSignal | undefined;

  /** @param work never rejects */
  constructor(work: (due: Due) => Promise<void>) {
    this.#work = work;
  }

  /** Replaces the waiting entries. Another process finished those that are missing from `due`. */
  replace(due: readonly Due[], signal: AbortSignal): void {
    this.#waiting = due.filter(({ id }) => !this.#running.has(id)).reverse();
    this.#signal = signal;
    this.#fill();
  }

  #fill(): void {
    while (this.#running.size < recoveryChargesMax && !this.#signal?.aborted) {
      const next = this.#waiting.pop();
      if (next === undefined) return;
      this.#running.add(next.id);
      void this.#work(next).finally(() => {
        this.#running.delete(next.id);
        this.#fill();
      });
    }
  }
}
