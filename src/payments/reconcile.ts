import type { Period, ProcessorAccount, ProcessorCharge } from '../processors/processor.ts';
import { isFinal } from './charge-state.ts';
import type { PaymentContext } from './context.ts';
import { recordsSlackMs } from './limits.ts';
import type { Payment } from './payment.ts';
import { findPayment, paymentsSince } from './payment-store.ts';

export interface Difference {
  readonly paymentId: string | undefined;
  readonly chargeId: string | undefined;
  /** The difference, as the rest of a sentence. */
  readonly what: string;
}

export interface Reconciled {
  readonly differences: readonly Difference[];
  /** Our payments in the period. */
  readonly payments: number;
  /** Charges of ours in the processor's records. */
  readonly charges: number;
  /** Charges there that another system requested. */
  readonly others: number;
}

/**
 * Compares our records of a period with the processor's: every charge that we call succeeded must be there, with the same
 * amounts charged and refunded, and every charge there with a payment id must be ours. Changes nothing. Rejects when the
 * processor's records cannot be read.
 */
export async function reconcile(
  context: Pick<PaymentContext, 'engine'>,
  processor: ProcessorAccount,
  { from, until }: Period,
): Promise<Reconciled> {
  const differences: Difference[] = [];
  const seen = new Set<string>();
  let charges = 0;
  let others = 0;
  for await (const charge of processor.charges({
    from: from - recordsSlackMs,
    until: until + recordsSlackMs,
  })) {
    const { paymentId, chargeId } = charge;
    if (paymentId === undefined) {
      others++;
      continue;
    }
    charges++;
    const payment = await findPayment(context, paymentId);
    if (payment?.processor !== processor.name) {
      differences.push({
        paymentId,
        chargeId,
        what: 'is in the processor’s records but not among our payments',
      });
      continue;
    }
    if (seen.has(paymentId))
      differences.push({ paymentId, chargeId, what: 'is a second charge of one payment' });
    seen.add(paymentId);
    for (const what of differencesOf(payment, charge)) differences.push({ paymentId, chargeId, what });
  }
  let payments = 0;
  for await (const payment of paymentsSince(context, from)) {
    if (Date.parse(payment.createdAt) >= until) break;
    if (payment.processor !== processor.name) continue;
    payments++;
    const { id: paymentId, chargeId, state } = payment;
    if (state === 'succeeded' && !seen.has(paymentId)) {
      differences.push({ paymentId, chargeId, what: 'has succeeded but is not in the processor’s records' });
    }
    if (!isFinal(state) && !seen.has(paymentId)) {
      differences.push({ paymentId, chargeId, what: `is ${state} and not in the processor’s records` });
    }
  }
  return { differences, payments, charges, others };
}

function differencesOf(payment: Payment, charge: ProcessorCharge): string[] {
  const { state, amount, currency, chargeId } = payment;
  const differences: string[] = [];
  const differs = (what: string, ours: unknown, theirs: unknown) => {
    if (ours !== theirs)
      differences.push(`has ${what} ${ours} here and ${theirs} in the processor’s records`);
  };
  if (state !== 'succeeded') differences.push(`is ${state} here but charged in the processor’s records`);
  else differs('charge id', chargeId, charge.chargeId);
  differs('amount', amount, charge.amount);
  differs('currency', currency, charge.currency);
  const refunded = (payment.refunds ?? []).filter(({ state: of }) => of === 'succeeded' || of === 'pending');
  differs(
    'refunded',
    refunded.reduce((sum, refund) => sum + refund.amount, 0),
    charge.amountRefunded,
  );
  return differences;
}
