import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { deliveryOf, eventOf, post } from '../stripe/events.ts';
import type { Intent } from '../stripe/objects.ts';
import { writeSettings } from './settings-file.ts';
import { chargeRequest, path, paymentAfter, type StripeService, startWithStripe } from './stripe-service.ts';

const returnUrl = 'https://shop.example/paid?cart=7';
export const challengeSettings = {
  tables: { declared: ['seats'] },
  payments: {
    routes: {
      charge: {
        return_urls: ['https://shop.example'],
        on_success: { table: 'seats', id: 'metadata.seat', name: 'payment_id' },
      },
    },
  },
};
/** A request that Stripe answers with a challenge. */
export const request = {
  ...chargeRequest,
  token: 'tok_requires_action',
  return_url: returnUrl,
  metadata: { seat: 'A-7' },
};
export const key = { 'idempotency-key': 'cart-7' };
/** The default of `payments.authenticationSeconds`. */
export const deadlineMs = 1_800_000;

/** A charge that waits for its cardholder. */
export interface Challenge extends StripeService {
  readonly at: string;
  readonly intent: () => Intent;
  /** The signed event of the intent as it is now. */
  readonly send: (type: string) => Promise<number>;
}

export async function begin(t: TestContext, fields: Partial<typeof request> = {}): Promise<Challenge> {
  const started = await startWithStripe(t, { file: writeSettings(t, challengeSettings) });
  const { service, stripe } = started;
  const response = await service.post(path, { ...request, ...fields }, key);
  const at = response.headers.get('location') ?? '';
  const intent = () => stripe.records().intents.at(-1) as Intent;
  assert.equal(response.status, 402, response.text);
  assert.equal(response.json.body.error.code, 'authentication_required');
  assert.deepEqual(response.json.body.error.next_action, {
    type: 'redirect',
    url: intent().next_action?.redirect_to_url.url,
    client_secret: intent().client_secret,
  });
  const send = (type: string) =>
    post(`${service.origin}/stage/events/stripe`, deliveryOf(eventOf(type, intent())));
  return { ...started, at, intent, send };
}

export function authenticate({ stripe, intent }: Challenge, isCardholder: boolean): void {
  stripe.command({ authenticate: { id: intent().id, isCardholder } });
}

export async function seats({ service }: Challenge): Promise<string[]> {
  const { status, json } = await service.get('/v3/table/seats/read');
  return status === 404 ? [] : json.body.map(({ id }: { id: string }) => id);
}

/** Retrieves the payment until it no longer waits: each retrieval may look it up. */
export function ended({ service, at }: Challenge) {
  return paymentAfter(service, at, ['requires_action']);
}
