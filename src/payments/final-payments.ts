import { finalPaymentsKeptMax } from '../limits.ts';
import type { Payment } from './payment.ts';

/**
 * Payments that were asked for again, by the key that leads to them: those that have succeeded or were declined by the
 * issuer, so that key, request and answer stay what they are for ever. What else their records say, refunds for
 * instance, is of no concern to a repeated request.
 */
export class FinalPayments {
  readonly #byKey = new Map<string, Payment>();

  get(keyEntry: string): Payment | undefined {
    return this.#byKey.get(keyEntry);
  }

  note(keyEntry: string, payment: Payment): void {
    const isFinal = payment.state === 'succeeded' || payment.declineCode !== undefined;
    if (!isFinal || payment.answer === undefined) return;
    if (this.#byKey.size >= finalPaymentsKeptMax) this.#byKey.clear();
    this.#byKey.set(keyEntry, payment);
  }
}
