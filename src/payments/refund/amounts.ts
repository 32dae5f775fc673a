import type { Payment } from '../payment.ts';
import type { Refund } from '../refund-state.ts';

export function findRefund({ refunds = [] }: Payment, id: string): Refund | undefined {
  return refunds.find((refund) => refund.id === id);
}

/** The payment with this refund added or replaced. */
export function withRefund(payment: Payment, refund: Refund): Payment {
  const { refunds = [] } = payment;
  const isKnown = refunds.some(({ id }) => id === refund.id);
  return {
    ...payment,
    refunds: isKnown ? refunds.map((each) => (each.id === refund.id ? refund : each)) : [...refunds, refund],
  };
}

/** The amount that was or may have been refunded. */
export function amountRefunded({ refunds = [] }: Payment): number {
  return refunds.reduce((sum, { state, amount }) => (state === 'failed' ? sum : sum + amount), 0);
}

/** Whether refunds have returned the whole amount. Pending refunds do not count, because they may still fail. */
export function isFullyRefunded({ amount, refunds = [] }: Payment): boolean {
  const returned = refunds.filter(({ state }) => state === 'succeeded');
  return returned.reduce((sum, refund) => sum + refund.amount, 0) >= amount;
}

/**
 * Whether the charge has moved money. Also true for a proven charge that needs review because its item could not be
 * made.
 */
export function isCharged({ state, chargeId }: Payment): boolean {
  return state === 'succeeded' || (state === 'needs_review' && chargeId !== undefined);
}

/** The amount that can still be refunded. */
export function amountRefundable(payment: Payment): number {
  return isCharged(payment) ? Math.max(0, payment.amount - amountRefunded(payment)) : 0;
}

/** Whether a chargeback has withdrawn the money. A refund would then return it twice, and processors reject it. */
export function isDisputed({ disputes = [] }: Payment): boolean {
  return disputes.some(({ isWithdrawn }) => isWithdrawn === true);
}
