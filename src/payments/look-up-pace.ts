import { LRUCache } from 'lru-cache';
import { authenticationLookUpPauseMs, authenticationsPacedMax } from './limits.ts';

/** Paces the look-ups of payments that wait for their cardholder, however often callers retrieve them. */
export class LookUpPace {
  readonly #begun = new LRUCache<string, true>({
    max: authenticationsPacedMax,
    ttl: authenticationLookUpPauseMs,
  });

  /** Whether it is time to look the payment up; then the next look-up has to wait. */
  isDue(paymentId: string): boolean {
    if (this.#begun.has(paymentId)) return false;
    this.#begun.set(paymentId, true);
    return true;
  }
}
