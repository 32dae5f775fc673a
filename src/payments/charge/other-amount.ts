import type { Money } from '../../processors/event.ts';
import type { Payment } from '../payment.ts';
import type { Settlement } from './outcome.ts';

/** What the processor has taken, if that is not what the payment is about: then neither side's figure counts as true. */
export function otherAmountOf({ amount, currency }: Payment, outcome: Settlement): Money | undefined {
  if (outcome.kind !== 'succeeded' || outcome.taken === undefined) return undefined;
  const { taken } = outcome;
  return taken.amount === amount && taken.currency === currency ? undefined : taken;
}

/** Both amounts, for people. */
export function otherAmountMessage(payment: Payment, taken: Money): string {
  return (
    `The payment processor reports a charge of ${textOf(taken)} for this payment of ${textOf(payment)}, in the smallest unit of ` +
    'the currency. The shop must look it up there before it delivers or refunds.'
  );
}

/** Both amounts, for the log. */
export function otherAmountDetail(payment: Payment, taken: Money): string {
  return `${textOf(taken)} instead of ${textOf(payment)}`;
}

function textOf({ amount, currency }: Money): string {
  return `${amount} ${currency}`;
}
