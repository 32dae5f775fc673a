import { LRUCache } from 'lru-cache';
import { authenticationLookUpPauseMs, authenticationLookUpsMax, authenticationsPacedMax } from './limits.ts';

/** Paces the look-ups of payments that wait for their cardholder, however often callers retrieve them. */
export class LookUpPace {
  readonly #begun = new LRUCache<string, true>({
    max: authenticationsPacedMax,
    ttl: authenticationLookUpPauseMs,
  });

  #running = 0;

  /**
   * Starts a look-up of the payment, unless there was one just now or too many are running: callers must not use up the calls
   * that recovery may make.
   *
   * @returns undefined if it did not start
   */
  run<Result>(paymentId: string, lookUp: () => Promise<Result>): Promise<Result> | undefined {
    if (this.#begun.has(paymentId) || this.#running >= authenticationLookUpsMax) return undefined;
    this.#begun.set(paymentId, true);
    this.#running++;
    return lookUp().finally(() => {
      this.#running--;
    });
  }
}
