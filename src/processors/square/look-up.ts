import { setTimeout as sleep } from 'node:timers/promises';
import { inTime } from '../in-time.ts';
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
import { locationQuery, type Payments, type SquareAccount } from './account.ts';
import { type Json, objectOf, SquareError, textOf } from './api.ts';
import { outcomeOfPayment } from './charge.ts';
import { faultOf } from './errors.ts';

/** Square's most. */
const pageItems = 100;
/** Square's clock and ours. */
const clockSlackMs = 300_000;
/** One page of a list, its waiting for a turn included. */
const pageMsMax = 60_000;
/** A request that has not arrived so long after its connection was closed will not arrive. */
const arrivalMsMax = 120_000;

/** The payments of our location in a period, by the payment ids that they bear. */
export async function* paymentsOf(account: SquareAccount, { from, until }: Period) {
  const period = { from: from - clockSlackMs, until: until + clockSlackMs };
  for await (const found of listed(account, period)) {
    yield { paymentId: paymentIdOf(textOf(found.reference_id)), found };
  }
}

/** Of the entries of one payment: an attempt that failed may stand before one, with the same key, that did not. */
export function weightOf(found: Json): 0 | 1 | 2 {
  const { kind } = outcomeOfPayment(found);
  if (kind === 'succeeded') return 2;
  return kind === 'unknown' ? 1 : 0;
}

/**
 * Looks for the payment that bears our payment id. Square cannot search for it: the list of the time in question is
 * read (https://developer.squareup.com/reference/square/payments-api/list-payments). That list may be some seconds
 * behind, so that what could be too new for it is looked for once more after that time, before it is called absent.
 */
export async function findCharge(
  account: SquareAccount,
  payments: Payments,
  { paymentId, askedFrom, askedUntil, timeoutMs }: SoughtCharge,
): Promise<LookUp<ChargeOutcome>> {
  const deadline = performance.now() + timeoutMs;
  const period = { from: askedFrom, until: askedUntil };
  const find = () => payments.find(paymentId, period, Math.max(1, deadline - performance.now()));
  let listing = await find();
  if (listing.kind === 'absent' && Date.now() <= askedUntil + account.listLagMs) {
    const lagMs = Math.min(account.listLagMs, Math.max(0, deadline - performance.now()));
    await sleep(lagMs, undefined, { ref: false });
    listing = await find();
  }
  return listing.kind === 'found' ? outcomeOfPayment(listing.found) : listing;
}

/**
 * Square voids what it has under the key and has not completed
 * (https://developer.squareup.com/reference/square/payments-api/cancel-payment-by-idempotency-key). That takes no key out
 * of use, so a payment counts as canceled only when no request for it can arrive any more.
 */
export async function cancelCharge(
  account: SquareAccount,
  payments: Payments,
  canceled: CanceledCharge,
): Promise<CancelOutcome> {
  const { processorKey, silentMs, timeoutMs } = canceled;
  const options = { timeoutMs: Math.min(timeoutMs, pageMsMax), isRecovery: true };
  // One that is completed is not voided, and then found on the books.
  await account.api
    .post('/v2/payments/cancel', { idempotency_key: processorKey }, options)
    .catch(() => undefined);
  const found = await findCharge(account, payments, canceled);
  if (found.kind === 'succeeded' || found.kind === 'unknown') return found;
  // A failed attempt may be followed by one that does not fail, under the same key.
  if (silentMs <= arrivalMsMax) return { kind: 'unknown', detail: 'a request may still arrive' };
  return found.kind === 'declined' ? found : { kind: 'canceled' };
}

/** Oldest first: what is made while the pages are read comes last and moves none of them. */
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
  return inTime<Owner | Unknown>(found, timeoutMs, { kind: 'unknown', detail: 'no look-up in time' });
}

function ownerOf({ reference_id, status }: Json): Owner {
  return { kind: 'owner', paymentId: paymentIdOf(textOf(reference_id)), isPaid: status === 'COMPLETED' };
}

/** Payments of our location that have moved money. Square does not say whether the end of a period is part of it. */
export async function* charges(account: SquareAccount, period: Period): AsyncGenerator<ProcessorCharge> {
  for await (const payment of listed(account, period)) {
    const madeAt = Date.parse(textOf(payment.created_at) ?? '');
    if (payment.status !== 'COMPLETED' || madeAt < period.from || madeAt >= period.until) continue;
    // What was charged and what can be given back: with the tip, where somebody else took one.
    const money = objectOf(payment.total_money ?? payment.amount_money);
    yield {
      chargeId: textOf(payment.id) ?? '',
      paymentId: paymentIdOf(textOf(payment.reference_id)),
      amount: Number(money.amount ?? 0),
      amountRefunded: Number(objectOf(payment.refunded_money).amount ?? 0),
      currency: textOf(money.currency) ?? '',
    };
  }
}

/** @returns the reference of a payment if it is an id of ours; anybody who uses the account may leave another */
export function paymentIdOf(referenceId: string | undefined): string | undefined {
  return referenceId !== undefined && /^pay_[0-9a-f]{32}$/.test(referenceId) ? referenceId : undefined;
}
