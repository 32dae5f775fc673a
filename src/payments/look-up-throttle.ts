import { LRUCache } from 'lru-cache';
import { authenticationLookUpPauseMs, authenticationLookUpsMax, authenticationsPacedMax } from './limits.ts';

/** Paces the look-ups of payments that wait for their cardholder, however often callers ask about them. */
export class LookUpThrottle<Result> {
  readonly #begun = new LRUCache<string, true>({
    max: authenticationsPacedMax,
    ttl: authenticationLookUpPauseMs,
  });

  readonly #running = new Map<string, Promise<Result>>();

  /**
   * Starts a look-up of the payment, or joins the one that is under way. Callers must not use up the calls that recovery may
   * make.
   *
   * @returns undefined if there was a look-up just now, or too many are under way
   */
  run(paymentId: string, lookUp: () => Promise<Result>): Promise<Result> | undefined {
    const running = this.#running.get(paymentId);
    if (running !== undefined) return running;
    if (this.#begun.has(paymentId) || this.#running.size >= authenticationLookUpsMax) return undefined;
    this.#begun.set(paymentId, true);
    const started = lookUp().finally(() => this.#running.delete(paymentId));
    this.#running.set(paymentId, started);
    return started;
  }
}
