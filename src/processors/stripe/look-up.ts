import type { Stripe } from 'stripe';
import {
  type ChargeOutcome,
  type LookUp,
  type OpenAttempt,
  type Owner,
  type Period,
  type ProcessorCharge,
  requestOfText,
  type SoughtCharge,
  type Unknown,
} from '../processor.ts';
import { inTime, outcomeInTime } from '../sending/in-time.ts';
import type { SharedListing } from '../sending/shared-listing.ts';
import { isoAmount } from './amount.ts';
import { outcomeOfIntent, paymentIdKey, requestKey, requiredAction } from './charge.ts';
import { detailOf } from './errors.ts';

/** Stripe's maximum. */
const pageItems = 100;
/** Allowed difference between Stripe's clock and ours. */
const clockSlackMs = 300_000;
/** For one page of a list, or one search, including the wait for a turn. */
export const pageMsMax = 60_000;

export type Intents = SharedListing<Stripe.PaymentIntent>;

/** Yields the PaymentIntents of a period with their payment ids. */
export async function* intentsOf(client: Stripe, { from, until }: Period) {
  const created = {
    gte: Math.floor((from - clockSlackMs) / 1_000),
    lte: Math.ceil((until + clockSlackMs) / 1_000),
  };
  const listing = client.paymentIntents.list({ created, limit: pageItems }, { timeout: pageMsMax });
  for await (const intent of listing) yield { paymentId: intent.metadata[paymentIdKey], found: intent };
}

/** Looks up the PaymentIntent with our payment id and returns its outcome. */
export async function findCharge(
  client: Stripe,
  intents: Intents,
  sought: SoughtCharge,
): Promise<LookUp<ChargeOutcome>> {
  const found = await findIntent(client, intents, sought);
  if ('kind' in found) return found;
  return requiredAction(found) ?? outcomeOfFound(found);
}

/**
 * An intent whose id is known is retrieved. The search needs one request, but finds an intent only some time after its creation
 * (https://docs.stripe.com/search#data-freshness). Only the list is always current and can prove that there is none.
 */
export async function findIntent(
  client: Stripe,
  intents: Intents,
  sought: SoughtCharge,
): Promise<Stripe.PaymentIntent | { readonly kind: 'absent' } | Unknown> {
  const { paymentId, attemptId, timeoutMs } = sought;
  const deadline = performance.now() + timeoutMs;
  const query = `metadata['${paymentIdKey}']:'${paymentId}'`;
  const timeout = Math.min(timeoutMs, pageMsMax);
  if (attemptId !== undefined) return retrieved(client, attemptId, timeout);
  // Not every account can search (https://docs.stripe.com/search#limitations); the list is complete.
  const searched = await inTime<readonly Stripe.PaymentIntent[]>(
    client.paymentIntents.search({ query, limit: 1 }, { timeout }).then(
      ({ data }) => data,
      () => [],
    ),
    timeout,
    [],
  );
  const [intent] = searched;
  if (intent !== undefined) return intent;
  const period = { from: sought.requestedFrom, until: sought.requestedUntil };
  const listed = await intents.find(paymentId, period, Math.max(1, deadline - performance.now()));
  if (listed.kind === 'found') return listed.found;
  return listed.kind === 'absent' ? listed : { kind: 'unknown', detail: listed.detail };
}

async function retrieved(
  client: Stripe,
  id: string,
  timeout: number,
): Promise<Stripe.PaymentIntent | Unknown> {
  return client.paymentIntents
    .retrieve(id, {}, { timeout })
    .catch((error: unknown): Unknown => ({ kind: 'unknown', detail: detailOf(error) }));
}

/** An intent without an error may be unconfirmed yet: one request creates it and then confirms it. */
export function outcomeOfFound(intent: Stripe.PaymentIntent): ChargeOutcome {
  const isDecided = ['succeeded', 'canceled'].includes(intent.status) || intent.last_payment_error !== null;
  return isDecided
    ? outcomeOfIntent(intent)
    : { kind: 'unknown', detail: `the PaymentIntent is ${intent.status}` };
}

/** A charge has the metadata of its PaymentIntent (https://docs.stripe.com/metadata#payment-intents). */
export async function findOwner(
  client: Stripe,
  chargeId: string,
  timeoutMs: number,
): Promise<Owner | Unknown> {
  const found = client.charges.retrieve(chargeId, {}, { timeout: timeoutMs }).then(
    ({ metadata, status }): Owner => ({
      kind: 'owner',
      paymentId: metadata[paymentIdKey],
      isPaid: status === 'succeeded',
    }),
    (error: Partial<Stripe.errors.StripeError>): Owner | Unknown =>
      error.statusCode === 404
        ? { kind: 'owner', paymentId: undefined, isPaid: false }
        : { kind: 'unknown', detail: detailOf(error) },
  );
  return outcomeInTime(found, timeoutMs, 'no look-up in time');
}

/** Yields the charges that have moved money. */
export async function* charges(client: Stripe, { from, until }: Period): AsyncGenerator<ProcessorCharge> {
  const created = { gte: Math.floor(from / 1_000), lt: Math.ceil(until / 1_000) };
  for await (const charge of client.charges.list({ created, limit: pageItems })) {
    if (charge.status !== 'succeeded' || !charge.captured) continue;
    const currency = charge.currency.toUpperCase();
    yield {
      chargeId: charge.id,
      paymentId: charge.metadata[paymentIdKey],
      amount: isoAmount(charge.amount, currency),
      amountRefunded: isoAmount(charge.amount_refunded, currency),
      currency,
      ...recorded(charge.metadata),
    };
  }
}

/** Intents that somebody with the client secret can still confirm (https://docs.stripe.com/payments/paymentintents/lifecycle). */
const openStatuses: readonly string[] = [
  'requires_action',
  'requires_payment_method',
  'requires_confirmation',
];

export async function* openAttempts(client: Stripe, period: Period): AsyncGenerator<OpenAttempt> {
  for await (const { paymentId, found } of intentsOf(client, period)) {
    if (paymentId === undefined || !openStatuses.includes(found.status)) continue;
    const currency = found.currency.toUpperCase();
    const amount = isoAmount(found.amount, currency);
    yield { attemptId: found.id, paymentId, amount, currency, ...recorded(found.metadata) };
  }
}

/** What the metadata has beside our payment id: the request, and what the caller sent. */
function recorded(all: Stripe.Metadata): Pick<ProcessorCharge, 'request' | 'metadata'> {
  const { [paymentIdKey]: _paymentId, [requestKey]: request, ...metadata } = all;
  return {
    ...(request === undefined ? {} : { request: requestOfText(request) }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
}
