import type { Stripe } from 'stripe';
import { defined } from '../../defined.ts';
import {
  type Account,
  type Check,
  type Mode,
  type OpenAttempt,
  type Owner,
  type Period,
  type ProcessorCharge,
  parseRequestText,
  type Unknown,
} from '../processor.ts';
import { outcomeInTime } from '../sending/outcomes.ts';
import { isoAmount } from './amount.ts';
import { paymentIdKey, requestKey } from './charge.ts';
import { errorDetail } from './errors.ts';
import { identifiedIntents, pageItems } from './look-up.ts';

/** https://docs.stripe.com/api/accounts/retrieve; a restricted key needs the permission to read the account. */
export async function account(client: Stripe, key: string, timeoutMs: number): Promise<Account> {
  const mode = keyMode(key);
  const read = client.accounts.retrieveCurrent({}, { timeout: timeoutMs }).then(
    ({ id }): Account => ({ kind: 'account', id, ...mode }),
    (error: Partial<Stripe.errors.StripeError>): Account =>
      error.statusCode === 403
        ? { kind: 'withheld', ...mode }
        : { kind: 'unknown', detail: errorDetail(error) },
  );
  return outcomeInTime(read, timeoutMs);
}

/** https://docs.stripe.com/keys: `sk_live_…`, `rk_test_…`. Test and live mode have the same account id and separate records. */
function keyMode(key: string): { readonly mode?: Mode } {
  return defined({ mode: /^[a-z]+_(live|test)_/.exec(key)?.[1] as Mode | undefined });
}

/**
 * Lists one PaymentIntent (https://docs.stripe.com/api/payment_intents/list). Looking up a charge needs the same
 * permission, so that a restricted key without it is found before a charge is in doubt.
 */
export async function check(client: Stripe, timeoutMs: number): Promise<Check> {
  const listed = client.paymentIntents.list({ limit: 1 }, { timeout: timeoutMs }).then(
    (): Check => ({ kind: 'well' }),
    (error: Partial<Stripe.errors.StripeError>): Check => {
      const { statusCode } = error;
      const isRejected = statusCode === 401 || statusCode === 403;
      return { kind: isRejected ? 'rejected' : 'unknown', detail: errorDetail(error) };
    },
  );
  return outcomeInTime(listed, timeoutMs);
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
        : { kind: 'unknown', detail: errorDetail(error) },
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
  for await (const { paymentId, found } of identifiedIntents(client, period)) {
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
    ...(request === undefined ? {} : { request: parseRequestText(request) }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
}
