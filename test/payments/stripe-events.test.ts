import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { randomFrom, seedOf, shuffled } from '../support/random.ts';
import { startTestService } from '../support/service.ts';
import {
  deliveryOf,
  disputeOf,
  eventOf,
  eventsOf,
  post,
  signedWithWrongSecret,
  webhookSecret,
} from '../support/stripe/events.ts';
import { startScriptedStripe } from '../support/stripe/scripted-stripe.ts';

const path = '/stage/payment/stripe/charge';

async function start(t: TestContext) {
  const stripe = await startScriptedStripe(t);
  const env = {
    COUNTERFOIL_STRIPE_KEY: stripe.key,
    COUNTERFOIL_STRIPE_API_BASE: stripe.origin,
    COUNTERFOIL_STRIPE_WEBHOOK_SECRETS: webhookSecret,
  };
  const service = await startTestService(t, { env });
  return { stripe, service, events: `${service.origin}/stage/events/stripe` };
}

test('Stripe events settle a charge in doubt, however often and in whatever order they arrive', async (t) => {
  const { stripe, service, events } = await start(t);
  const request = { amount: 1_050, currency: 'EUR', token: 'tok_error_after_charging' };
  const response = await service.post(path, request);
  assert.equal(response.status, 504);
  // Nothing else can settle it: Stripe responds 429 to every request.
  stripe.turnsAway = true;
  const [charge] = stripe.records().charges;
  assert.ok(charge !== undefined);
  const dispute = eventOf('charge.dispute.created', disputeOf(charge));
  const delivered = [...eventsOf(stripe.records()), dispute];
  const location = response.headers.get('location') ?? '';

  assert.equal(await post(events, signedWithWrongSecret(delivered[0] ?? dispute)), 401);
  assert.equal((await service.get(location)).json.body.status, 'in_doubt');

  const random = randomFrom(seedOf(t));
  let left = shuffled(random, [...delivered, ...delivered]);
  while (left.length > 0) {
    const again: typeof left = [];
    for (const event of left) {
      const status = await post(events, deliveryOf(event));
      // The charge of an event is unknown until the charge is settled; then Stripe delivers the event again.
      if (status === 503) again.push(event);
      else assert.equal(status, 200);
    }
    assert.ok(again.length < left.length, 'no event was accepted');
    left = again;
  }
  const { status, charge_id: chargeId, disputes } = (await service.get(location)).json.body;
  assert.deepEqual([status, chargeId], ['succeeded', charge.id]);
  assert.equal(disputes.length, 1);
});
