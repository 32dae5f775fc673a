import type { Payment } from '../../../src/payments/payment.ts';
import { paymentsAfter } from '../../../src/payments/payment-store.ts';
import { openStoreOf } from '../service.ts';
import type { Charge, Refund, StripeRecords } from '../stripe/objects.ts';
import type { FaultCharge, Responses } from './fault-requests.ts';
import { mayStayOpen, statusesOf } from './fault-words.ts';

/** A promise that was broken, and for whom. */
export interface Finding {
  readonly kind:
    | 'charged twice'
    | 'refunded twice'
    | 'confirmed without its charge'
    | 'done and not confirmed'
    | 'answered differently'
    | 'burnt'
    | 'ended otherwise'
    | 'not settled'
    | 'records and books differ';
  readonly what: string;
}

/** Holds all that the callers were answered against our records and the books of Stripe. */
export function findingsOf(
  requested: readonly FaultCharge[],
  stripe: StripeRecords,
  payments: readonly Payment[],
): Finding[] {
  const charges = stripe.charges.filter(({ status }) => status === 'succeeded');
  const byAmount = Map.groupBy(charges, ({ amount }) => amount);
  const refunds = Map.groupBy(stripe.refunds, ({ charge }) => charge);
  return [
    ...requested.flatMap((charge) => ofCharge(charge, byAmount.get(charge.amount) ?? [], refunds)),
    ...ofRecords(charges, stripe.refunds, payments),
  ];
}

function ofCharge(
  charge: FaultCharge,
  charges: readonly Charge[],
  refundsByCharge: ReadonlyMap<string, readonly Refund[]>,
): Finding[] {
  const who = `${charge.key} with ${charge.token}`;
  const ids = charges.map(({ id }) => id);
  const found = ofResponses(who, charge, statusesOf[charge.ending], mayStayOpen(charge.ending), ids);
  if (ids.length > 1) found.push({ kind: 'charged twice', what: `${who}: ${ids.join(', ')}` });
  const { refund } = charge;
  const made = ids.flatMap((id) => refundsByCharge.get(id) ?? []);
  if (refund === undefined) return found;
  const isRefunded = charge.finalResponses.has(200);
  const statuses = refund.ending === 'failed' ? [502] : statusesOf[refund.ending];
  const isOpenRefund = mayStayOpen(refund.ending);
  const refunded = made.filter(({ status }) => status !== 'failed').map(({ id }) => id);
  if (isRefunded)
    found.push(...ofResponses(`the refund of ${who}`, refund, statuses, isOpenRefund, refunded));
  const refundIds = made.map(({ id }) => id);
  if (made.length > 1) found.push({ kind: 'refunded twice', what: `${who}: ${refundIds.join(', ')}` });
  return found;
}

/** @param done what stands on the books of what was asked for */
function ofResponses(
  who: string,
  { finalResponses, pending }: Responses,
  statuses: readonly number[],
  isOpen: boolean,
  done: readonly string[],
): Finding[] {
  const found: Finding[] = [];
  const note = (kind: Finding['kind'], what: string) => void found.push({ kind, what: `${who} ${what}` });
  const texts = [...finalResponses].flatMap(([status, bodies]) =>
    [...bodies].map((body) => `${status} ${body}`),
  );
  const ended = [...finalResponses.keys()];
  if (texts.length > 1) note('answered differently', texts.join(' | '));
  for (const text of finalResponses.get(200) ?? []) {
    if (!done.some((id) => text.includes(`"${id}"`))) note('confirmed without its charge', text);
  }
  // Recovery may end an open one after its caller has asked for the last time: its record then tells, below.
  if (!finalResponses.has(200) && done.length > 0 && !isOpen)
    note('done and not confirmed', `${texts} ${pending}`);
  if (ended.length === 0 && !isOpen) note('not settled', pending);
  for (const status of ended.filter((each) => !statuses.includes(each))) {
    note(statuses.length === 1 && statuses[0] === 200 ? 'burnt' : 'ended otherwise', `${status} ${texts}`);
  }
  return found;
}

function ofRecords(charges: readonly Charge[], refunds: readonly Refund[], payments: readonly Payment[]) {
  const succeeded = payments.filter(({ state }) => state === 'succeeded');
  const given = payments.flatMap((payment) => payment.refunds ?? []);
  return [
    ...differences(
      'charge',
      charges.map(({ id, metadata }) => `${id} ${metadata.counterfoil_payment_id}`),
      succeeded.map(({ id, chargeId }) => `${chargeId} ${id}`),
    ),
    ...differences(
      'refund',
      refunds
        .filter(({ status }) => status !== 'failed')
        .map(({ id, metadata }) => `${id} ${metadata.counterfoil_refund_id}`),
      given
        .filter(({ state }) => state === 'succeeded' || state === 'pending')
        .map(({ id, processorRefundId }) => `${processorRefundId} ${id}`),
    ),
  ];
}

function differences(what: string, atStripe: readonly string[], inRecords: readonly string[]): Finding[] {
  const kind = 'records and books differ';
  const [stripe, records] = [new Set(atStripe), new Set(inRecords)];
  return [
    ...[...stripe.difference(records)].map(
      (id) => ({ kind, what: `${what} on the books alone: ${id}` }) as const,
    ),
    ...[...records.difference(stripe)].map(
      (id) => ({ kind, what: `${what} in our records alone: ${id}` }) as const,
    ),
  ];
}

/** The records of a service that has stopped. */
export async function paymentsIn(data: string): Promise<Payment[]> {
  const engine = await openStoreOf(data);
  const payments: Payment[] = [];
  for await (const payment of paymentsAfter({ engine }, undefined)) payments.push(payment);
  await engine.close();
  return payments;
}
