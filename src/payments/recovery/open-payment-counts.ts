import type { OpenPayments } from '../../metrics.ts';
import { processorCallMsMax } from '../limits.ts';
import { idsOf, type OpenMarker } from '../ownership/marker.ts';
import { madeAt } from '../payment.ts';

/**
 * Counts the open payments for the operator while recovery scans them. A charge counts as in doubt if it waits for a
 * retry, or if it is older than a call to a processor may take; not while it waits for its cardholder.
 */
export class OpenPaymentCounts {
  readonly #now: number;
  #charges = 0;
  #chargesInDoubt = 0;
  #refunds = 0;
  #oldestInDoubtAt: number | undefined;

  /** @param now milliseconds since 1970 */
  constructor(now: number) {
    this.#now = now;
  }

  note(openId: string, marker: OpenMarker): void {
    const { paymentId, refundId } = idsOf(openId);
    if (refundId !== undefined) {
      this.#refunds++;
      return;
    }
    this.#charges++;
    const at = madeAt(paymentId);
    if ('waitsFor' in marker) return;
    if (!('dueAt' in marker) && this.#now - at <= processorCallMsMax) return;
    this.#chargesInDoubt++;
    this.#oldestInDoubtAt = Math.min(at, this.#oldestInDoubtAt ?? at);
  }

  facts(): OpenPayments {
    return {
      charges: this.#charges,
      chargesInDoubt: this.#chargesInDoubt,
      refunds: this.#refunds,
      oldestInDoubtAt: this.#oldestInDoubtAt,
    };
  }
}
