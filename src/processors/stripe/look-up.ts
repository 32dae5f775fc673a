import type { Stripe } from 'stripe';
import { inTime } from '../in-time.ts';
import type {
  ChargeOutcome,
  LookUp,
  Owner,
  Period,
  ProcessorCharge,
  SoughtCharge,
  Unknown,
} from '../processor.ts';
import { isoAmount } from './amount.ts';
import { outcomeOfIntent, paymentIdKey } from './charge.ts';
import { detailOf } from './errors.ts';

/** Stripe's most. */
const pageItems = 100;
/** PaymentIntents looked through for one: more than any account makes in the minutes after a lost reply. */
const listedMax = 5_000;
/** Stripe's clock and ours. */
const clockSlackSeconds = 300;

/**
 * Looks for the PaymentIntent that bears our payment id. The search finds it in one request, some time after it was
 * made (https://docs.stripe.com/search#data-freshness); only the list, which is never behind, can tell that there is
 * none.
 */
export async function findCharge(client: Stripe, sought: SoughtCharge): Promise<LookUp<ChargeOutcome>> {
  const search = searched(client, sought).catch((error: unknown) => unknown(detailOf(error)));
  return inTime(search, sought.timeoutMs, unknown('no look-up in time'));
}

async function searched(client: Stripe, sought: SoughtCharge): Promise<LookUp<ChargeOutcome>> {
  const { paymentId, timeoutMs: timeout } = sought;
  const query = `metadata['${paymentIdKey}']:'${paymentId}'`;
  const search = client.paymentIntents.search({ query, limit: 1 }, { timeout });
  // Not every account can search (https://docs.stripe.com/search#limitations); the list has it all.
  const [found] = await search.then(
    ({ data }) => data,
    () => [],
  );
  return found === undefined ? listed(client, sought) : outcomeOfFound(found);
}

async function listed(
  client: Stripe,
  { paymentId, askedFrom, askedUntil, timeoutMs: timeout }: SoughtCharge,
): Promise<LookUp<ChargeOutcome>> {
  const created = {
    gte: Math.floor(askedFrom / 1_000) - clockSlackSeconds,
    lte: Math.ceil(askedUntil / 1_000) + clockSlackSeconds,
  };
  let seen = 0;
  for await (const intent of client.paymentIntents.list({ created, limit: pageItems }, { timeout })) {
    if (intent.metadata[paymentIdKey] === paymentId) return outcomeOfFound(intent);
    if (++seen === listedMax) return unknown('too many PaymentIntents to look through');
  }
  return { kind: 'absent' };
}

/** One that bears no error may not have been confirmed yet: the request that makes it does both, one after the other. */
function outcomeOfFound(intent: Stripe.PaymentIntent): ChargeOutcome {
  const isDecided = ['succeeded', 'canceled'].includes(intent.status) || intent.last_payment_error !== null;
  return isDecided ? outcomeOfIntent(intent) : unknown(`the PaymentIntent is ${intent.status}`);
}

function unknown(detail: string): ChargeOutcome {
  return { kind: 'unknown', detail };
}

/** A charge bears the metadata of the PaymentIntent that made it (https://docs.stripe.com/metadata#payment-intents). */
export async function findOwner(
  client: Stripe,
  chargeId: string,
  timeoutMs: number,
): Promise<Owner | Unknown> {
  const found = client.charges.retrieve(chargeId, {}, { timeout: timeoutMs }).then(
    ({ metadata }): Owner => ({ kind: 'owner', paymentId: metadata[paymentIdKey] }),
    (error: Partial<Stripe.errors.StripeError>): Owner | Unknown =>
      error.statusCode === 404
        ? { kind: 'owner', paymentId: undefined }
        : { kind: 'unknown', detail: detailOf(error) },
  );
  return inTime<Owner | Unknown>(found, timeoutMs, { kind: 'unknown', detail: 'no look-up in time' });
}

/** Charges that have moved money. */
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
    };
  }
}
