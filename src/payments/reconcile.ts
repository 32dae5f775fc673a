import type { Period, Processor, ProcessorCharge } from '../processors/processor.ts';
import { isFinal } from './charge-state.ts';
import type { PaymentContext } from './context.ts';
import type { Payment } from './payment.ts';
import { findPayment, paymentsSince } from './payment-store.ts';

export interface Difference {
  readonly paymentId: string | undefined;
  readonly chargeId: string | undefined;
  /** What differs, in a sentence. */
  readonly what: string;
}

export interface Reconciled {
  readonly differences: readonly Difference[];
  /** Payments of the period on our side. */
  readonly payments: number;
  /** Charges of the period on the processor's books. */
  readonly charges: number;
  /** Of them, those that somebody else asked for. */
  readonly others: number;
}

/** A charge is on the processor's books some moments after we have begun it, and clocks differ. */
const slackMs = 60 * 60 * 1_000;

/**
 * Holds our records of a period against the processor's books: every charge that we call succeeded must be there, with
 * the same money moved and given back, and every charge there that bears a payment id must be ours. Nothing is
 * changed. Rejects when the processor's books cannot be read.
 */
export async function reconcile(
  context: PaymentContext,
  processor: Processor,
  { from, until }: Period,
): Promise<Reconciled> {
  const differences: Difference[] = [];
  const seen = new Set<string>();
  let charges = 0;
  let others = 0;
  for await (const charge of processor.charges({ from: from - slackMs, until: until + slackMs })) {
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
        what: 'is on the processor’s books, and not among our payments',
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
      differences.push({ paymentId, chargeId, what: 'has succeeded, and is not on the processor’s books' });
    }
    if (!isFinal(state) && !seen.has(paymentId)) {
      differences.push({ paymentId, chargeId, what: `is ${state}, and not on the processor’s books` });
    }
  }
  return { differences, payments, charges, others };
}

function differencesOf(payment: Payment, charge: ProcessorCharge): string[] {
  const { state, amount, currency, chargeId } = payment;
  const differences: string[] = [];
  const differs = (what: string, ours: unknown, theirs: unknown) => {
    if (ours !== theirs) differences.push(`has ${what} ${ours} here and ${theirs} on the processor’s books`);
  };
  if (state !== 'succeeded') differences.push(`is ${state} here, and charged on the processor’s books`);
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
