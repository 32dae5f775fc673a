import { replayCacheMax } from './limits.ts';
import type { Payment } from './payment.ts';

/**
 * Payments that were asked for again, by the key that leads to them: those that have succeeded, so that key, request and
 * response stay what they are for ever. Proof may still override a decline. What else their records say, refunds for
 * instance, is of no concern to a repeated request.
 */
export class ReplayCache {
  readonly #byKey = new Map<string, Payment>();

  get(keyEntry: string): Payment | undefined {
    return this.#byKey.get(keyEntry);
  }

  note(keyEntry: string, payment: Payment): void {
    if (payment.state !== 'succeeded' || payment.answer === undefined) return;
    if (this.#byKey.size >= replayCacheMax) this.#byKey.clear();
    this.#byKey.set(keyEntry, payment);
  }
}
