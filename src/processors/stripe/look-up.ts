import type { Stripe } from 'stripe';
import type { ChargeOutcome, LookUp, Period, SoughtCharge, Unknown } from '../processor.ts';
import { inTime } from '../sending/outcomes.ts';
import type { SharedListing } from '../sending/shared-listing.ts';
import { intentOutcome, paymentIdKey, requiredAction } from './charge.ts';
import { errorDetail } from './errors.ts';

/** Stripe's maximum. */
export const pageItems = 100;
/** Allowed difference between Stripe's clock and ours. */
const clockSlackMs = 300_000;
/** For one page of a list, or one search, including the wait for a turn. */
export const pageMsMax = 60_000;

export type Intents = SharedListing<Stripe.PaymentIntent>;

/** Yields the PaymentIntents of a period with their payment ids. */
export async function* identifiedIntents(client: Stripe, { from, until }: Period) {
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
  return requiredAction(found) ?? foundOutcome(found);
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
    .catch((error: unknown): Unknown => ({ kind: 'unknown', detail: errorDetail(error) }));
}

/** An intent without an error may be unconfirmed yet: one request creates it and then confirms it. */
export function foundOutcome(intent: Stripe.PaymentIntent): ChargeOutcome {
  const isDecided = ['succeeded', 'canceled'].includes(intent.status) || intent.last_payment_error !== null;
  return isDecided
    ? intentOutcome(intent)
    : { kind: 'unknown', detail: `the PaymentIntent is ${intent.status}` };
}
