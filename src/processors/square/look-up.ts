import { setTimeout as sleep } from 'node:timers/promises';
import type {
  CanceledCharge,
  CancelOutcome,
  ChargeOutcome,
  LookUp,
  Period,
  SoughtCharge,
} from '../processor.ts';
import type { SharedListing } from '../sending/shared-listing.ts';
import { asText, type Json, locationQuery, type SquareAccount } from './api.ts';
import { paymentOutcome } from './charge.ts';

/** Square's maximum. */
const pageItems = 100;
/** Allowed difference between Square's clock and ours. */
const clockSlackMs = 300_000;
/** For one page of a list, including the wait for a turn. */
const pageMsMax = 60_000;
/** This long after its connection was closed, a request can no longer arrive. */
export const arrivalMsMax = 120_000;

export type Payments = SharedListing<Json>;

/** Yields the payments of our location in a period with their payment ids. */
export async function* identifiedPayments(account: SquareAccount, { from, until }: Period) {
  const period = { from: from - clockSlackMs, until: until + clockSlackMs };
  for await (const found of listPayments(account, period)) {
    yield { paymentId: parsePaymentId(asText(found.reference_id)), found };
  }
}

/** Weighs the entries of one payment: a failed attempt may precede a successful one with the same key. */
export function listingWeight(found: Json): 0 | 1 | 2 {
  const { kind } = paymentOutcome(found);
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
  return listing.kind === 'found' ? paymentOutcome(listing.found) : listing;
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
export function listPayments(account: SquareAccount, { from, until }: Period) {
  const query = {
    begin_time: new Date(from).toISOString(),
    end_time: new Date(until).toISOString(),
    sort_order: 'ASC',
    limit: String(pageItems),
    ...locationQuery(account),
  };
  return account.api.list('/v2/payments', 'payments', query, { timeoutMs: pageMsMax, isRecovery: true });
}

/** @returns the reference of a payment if it is our id; other users of the account may set other references */
export function parsePaymentId(referenceId: string | undefined): string | undefined {
  return referenceId !== undefined && /^pay_[0-9a-f]{32}$/.test(referenceId) ? referenceId : undefined;
}
