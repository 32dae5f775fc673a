import { setTimeout as sleep } from 'node:timers/promises';
import type {
  CanceledCharge,
  CancelOutcome,
  ChargeOutcome,
  LookUp,
  Owner,
  Period,
  ProcessorCharge,
  SoughtCharge,
  Unknown,
} from '../processor.ts';
import { outcomeInTime } from '../sending/in-time.ts';
import { locationQuery, type Payments, type SquareAccount } from './account.ts';
import { type Json, objectOf, SquareError, textOf } from './api.ts';
import { outcomeOfPayment, totalOf } from './charge.ts';
import { faultOf } from './errors.ts';

/** Square's maximum. */
const pageItems = 100;
/** Allowed difference between Square's clock and ours. */
const clockSlackMs = 300_000;
/** For one page of a list, including the wait for a turn. */
const pageMsMax = 60_000;
/** No request arrives this long after its connection was closed. */
export const arrivalMsMax = 120_000;

/** Yields the payments of our location in a period with their payment ids. */
export async function* paymentsOf(account: SquareAccount, { from, until }: Period) {
  const period = { from: from - clockSlackMs, until: until + clockSlackMs };
  for await (const found of listed(account, period)) {
    yield { paymentId: paymentIdOf(textOf(found.reference_id)), found };
  }
}

/** Weighs the entries of one payment: a failed attempt may precede a successful one with the same key. */
export function weightOf(found: Json): 0 | 1 | 2 {
  const { kind } = outcomeOfPayment(found);
  if (kind === 'succeeded') return 2;
  return kind === 'unknown' ? 1 : 0;
}

/**
 * Looks up the payment with our payment id. Square cannot search for it, so this reads the list of the period
 * (https://developer.squareup.com/reference/square/payments-api/list-payments). That list may be some seconds behind: a
 * payment that may be too new for it is looked up again after that time, before it counts as absent.
 */
export async function findCharge(
  account: SquareAccount,
  payments: Payments,
  { paymentId, requestedFrom, requestedUntil, timeoutMs }: SoughtCharge,
): Promise<LookUp<ChargeOutcome>> {
  const deadline = performance.now() + timeoutMs;
  const period = { from: requestedFrom, until: requestedUntil };
  const find = () => payments.find(paymentId, period, Math.max(1, deadline - performance.now()));
  let listing = await find();
  if (listing.kind === 'absent' && Date.now() <= requestedUntil + account.listLagMs) {
    const lagMs = Math.min(account.listLagMs, Math.max(0, deadline - performance.now()));
    await sleep(lagMs, undefined, { ref: false });
    listing = await find();
  }
  return listing.kind === 'found' ? outcomeOfPayment(listing.found) : listing;
}

/**
 * Square voids a payment with this key that is not completed
 * (https://developer.squareup.com/reference/square/payments-api/cancel-payment-by-idempotency-key). The key stays usable,
 * so a payment counts as canceled only when no request for it can arrive any more.
 */
export async function cancelCharge(
  account: SquareAccount,
  payments: Payments,
  canceled: CanceledCharge,
): Promise<CancelOutcome> {
  const { processorKey, silentMs, timeoutMs } = canceled;
  const options = { timeoutMs: Math.min(timeoutMs, pageMsMax), isRecovery: true };
  // A completed payment is not voided; `findCharge` then finds it.
  await account.api
    .post('/v2/payments/cancel', { idempotency_key: processorKey }, options)
    .catch(() => undefined);
  const found = await findCharge(account, payments, canceled);
  if (found.kind === 'succeeded' || found.kind === 'unknown') return found;
  // A successful attempt with the same key may follow a failed one.
  if (silentMs <= arrivalMsMax) return { kind: 'unknown', detail: 'a request may still arrive' };
  return found.kind === 'declined' ? found : { kind: 'canceled' };
}

/** Oldest first: a payment made during the listing comes last and shifts no page. */
function listed(account: SquareAccount, { from, until }: Period) {
  const query = {
    begin_time: new Date(from).toISOString(),
    end_time: new Date(until).toISOString(),
    sort_order: 'ASC',
    limit: String(pageItems),
    ...locationQuery(account),
  };
  return account.api.list('/v2/payments', 'payments', query, { timeoutMs: pageMsMax, isRecovery: true });
}

export async function findOwner(
  { api }: SquareAccount,
  chargeId: string,
  timeoutMs: number,
): Promise<Owner | Unknown> {
  const found = api.get(`/v2/payments/${encodeURIComponent(chargeId)}`, {}, { timeoutMs }).then(
    (reply): Owner => ownerOf(objectOf(reply.payment)),
    (error: unknown): Owner | Unknown =>
      error instanceof SquareError && error.status === 404
        ? { kind: 'owner', paymentId: undefined, isPaid: false }
        : { kind: 'unknown', detail: faultOf(error).detail },
  );
  return outcomeInTime(found, timeoutMs, 'no look-up in time');
}

function ownerOf({ reference_id, status }: Json): Owner {
  return { kind: 'owner', paymentId: paymentIdOf(textOf(reference_id)), isPaid: status === 'COMPLETED' };
}

/** Yields our location's payments that moved money. Square does not document whether a period's end is inclusive. */
export async function* charges(account: SquareAccount, period: Period): AsyncGenerator<ProcessorCharge> {
  for await (const payment of listed(account, period)) {
    const madeAt = Date.parse(textOf(payment.created_at) ?? '');
    if (payment.status !== 'COMPLETED' || madeAt < period.from || madeAt >= period.until) continue;
    const money = totalOf(payment);
    yield {
      chargeId: textOf(payment.id) ?? '',
      paymentId: paymentIdOf(textOf(payment.reference_id)),
      amount: Number(money.amount ?? 0),
      amountRefunded: Number(objectOf(payment.refunded_money).amount ?? 0),
      currency: textOf(money.currency) ?? '',
    };
  }
}

/** @returns the reference of a payment if it is our id; other users of the account may set other references */
export function paymentIdOf(referenceId: string | undefined): string | undefined {
  return referenceId !== undefined && /^pay_[0-9a-f]{32}$/.test(referenceId) ? referenceId : undefined;
}
