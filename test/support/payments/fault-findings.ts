import type { Payment } from '../../../src/payments/payment.ts';
import { paymentsAfter } from '../../../src/payments/payment-store.ts';
import { openStoreOf } from '../service.ts';
import type { Charge, Refund, StripeRecords } from '../stripe/objects.ts';
import type { FaultCharge, Responses } from './fault-requests.ts';
import { mayStayOpen, statusesOf } from './fault-words.ts';

/** A broken promise, and the key that it affects. */
export interface Finding {
  readonly kind:
    | 'charged twice'
    | 'refunded twice'
    | 'confirmed without its charge'
    | 'done and not confirmed'
    | 'different responses'
    | 'token used up'
    | 'wrong outcome'
    | 'not settled'
    | 'records differ';
  readonly what: string;
}

/** Compares all responses with our records and with Stripe's. */
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
  const refundsMade = ids.flatMap((id) => refundsByCharge.get(id) ?? []);
  if (refund === undefined) return found;
  const isRefunded = charge.finals.has(200);
  const statuses = refund.ending === 'failed' ? [502] : statusesOf[refund.ending];
  const isOpenRefund = mayStayOpen(refund.ending);
  const refunded = refundsMade.filter(({ status }) => status !== 'failed').map(({ id }) => id);
  if (isRefunded)
    found.push(...ofResponses(`the refund of ${who}`, refund, statuses, isOpenRefund, refunded));
  const refundIds = refundsMade.map(({ id }) => id);
  if (refundsMade.length > 1) found.push({ kind: 'refunded twice', what: `${who}: ${refundIds.join(', ')}` });
  return found;
}

/** @param done the ids of the charges or refunds that Stripe has for the request */
function ofResponses(
  who: string,
  { finals, pending }: Responses,
  statuses: readonly number[],
  isOpen: boolean,
  done: readonly string[],
): Finding[] {
  const found: Finding[] = [];
  const note = (kind: Finding['kind'], what: string) => void found.push({ kind, what: `${who} ${what}` });
  const texts = [...finals].flatMap(([status, bodies]) => [...bodies].map((body) => `${status} ${body}`));
  const ended = [...finals.keys()];
  if (texts.length > 1) note('different responses', texts.join(' | '));
  for (const text of finals.get(200) ?? []) {
    if (!done.some((id) => text.includes(`"${id}"`))) note('confirmed without its charge', text);
  }
  // Recovery may settle an open charge after its caller's last request: `ofRecords` then checks its record.
  if (!finals.has(200) && done.length > 0 && !isOpen) note('done and not confirmed', `${texts} ${pending}`);
  if (ended.length === 0 && !isOpen) note('not settled', pending);
  for (const status of ended.filter((each) => !statuses.includes(each))) {
    note(
      statuses.length === 1 && statuses[0] === 200 ? 'token used up' : 'wrong outcome',
      `${status} ${texts}`,
    );
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
  const kind = 'records differ';
  const [theirs, ours] = [new Set(atStripe), new Set(inRecords)];
  return [
    ...[...theirs.difference(ours)].map(
      (id) => ({ kind, what: `${what} only in Stripe's records: ${id}` }) as const,
    ),
    ...[...ours.difference(theirs)].map(
      (id) => ({ kind, what: `${what} only in our records: ${id}` }) as const,
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
