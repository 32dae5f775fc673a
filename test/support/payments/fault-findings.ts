import type { Payment } from '../../../src/payments/payment.ts';
import { paymentsAfter } from '../../../src/payments/payment-store.ts';
import { openStoreOf } from '../service.ts';
import type { Charge, Refund, StripeBooks } from '../stripe/objects.ts';
import type { Ask, FaultOrder } from './fault-requests.ts';
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
  orders: readonly FaultOrder[],
  books: StripeBooks,
  payments: readonly Payment[],
): Finding[] {
  const charges = books.charges.filter(({ status }) => status === 'succeeded');
  const byAmount = Map.groupBy(charges, ({ amount }) => amount);
  const refunds = Map.groupBy(books.refunds, ({ charge }) => charge);
  return [
    ...orders.flatMap((order) => ofOrder(order, byAmount.get(order.amount) ?? [], refunds)),
    ...ofRecords(charges, books.refunds, payments),
  ];
}

function ofOrder(
  order: FaultOrder,
  charges: readonly Charge[],
  refundsByCharge: ReadonlyMap<string, readonly Refund[]>,
): Finding[] {
  const who = `${order.key} with ${order.token}`;
  const ids = charges.map(({ id }) => id);
  const found = ofAsk(who, order, statusesOf[order.ending], mayStayOpen(order.ending), ids);
  if (ids.length > 1) found.push({ kind: 'charged twice', what: `${who}: ${ids.join(', ')}` });
  const { refund } = order;
  const made = ids.flatMap((id) => refundsByCharge.get(id) ?? []);
  if (refund === undefined) return found;
  const isRefunded = order.finals.has(200);
  const statuses = refund.ending === 'failed' ? [502] : statusesOf[refund.ending];
  const isOpenRefund = mayStayOpen(refund.ending);
  const refunded = made.filter(({ status }) => status !== 'failed').map(({ id }) => id);
  if (isRefunded) found.push(...ofAsk(`the refund of ${who}`, refund, statuses, isOpenRefund, refunded));
  const refundIds = made.map(({ id }) => id);
  if (made.length > 1) found.push({ kind: 'refunded twice', what: `${who}: ${refundIds.join(', ')}` });
  return found;
}

/** @param done what stands on the books of what was asked for */
function ofAsk(
  who: string,
  { finals, pending }: Ask,
  statuses: readonly number[],
  isOpen: boolean,
  done: readonly string[],
): Finding[] {
  const found: Finding[] = [];
  const note = (kind: Finding['kind'], what: string) => void found.push({ kind, what: `${who} ${what}` });
  const texts = [...finals].flatMap(([status, bodies]) => [...bodies].map((body) => `${status} ${body}`));
  const ended = [...finals.keys()];
  if (texts.length > 1) note('answered differently', texts.join(' | '));
  for (const text of finals.get(200) ?? []) {
    if (!done.some((id) => text.includes(`"${id}"`))) note('confirmed without its charge', text);
  }
  // Recovery may end an open one after its caller has asked for the last time: its record then tells, below.
  if (!finals.has(200) && done.length > 0 && !isOpen) note('done and not confirmed', `${texts} ${pending}`);
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

function differences(what: string, onBooks: readonly string[], inRecords: readonly string[]): Finding[] {
  const kind = 'records and books differ';
  const [books, records] = [new Set(onBooks), new Set(inRecords)];
  return [
    ...[...books.difference(records)].map(
      (id) => ({ kind, what: `${what} on the books alone: ${id}` }) as const,
    ),
    ...[...records.difference(books)].map(
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
