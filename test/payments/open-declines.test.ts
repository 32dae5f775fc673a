import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from '../support/busy-machine.ts';
import { key, request, challengeSettings as settings } from '../support/payments/challenge.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { path, paymentAfter, startWithStripe } from '../support/payments/stripe-service.ts';
import { deliveryOf, eventOf, post } from '../support/stripe/events.ts';
import type { Intent } from '../support/stripe/objects.ts';

/** With a return_url, a page with its client secret can confirm an intent again after a decline, also with another card. */

const open = ['calling', 'in_doubt', 'requires_action'];

for (const state of ['calling', 'in_doubt'] as const) {
  test(`an event of a decline declines a charge in ${state} only once its intent is canceled`, async (t) => {
    const { stripe, intent, authenticate, send, status, found } = await start(t);
    const token = `tok_requires_action_and_${state === 'calling' ? 'never_replies' : 'dropped'}`;
    await found(token);
    stripe.command({ set: { failsCancels: true } });
    authenticate(false);
    assert.equal(await send('payment_intent.payment_failed'), 503, 'Stripe sends it again');
    assert.ok(open.includes(await status()));
    // The buyer pays with another card.
    authenticate(true);
    assert.equal(await send('payment_intent.succeeded'), 200);
    assert.equal(await status(), 'succeeded');
    assert.equal(intent().status, 'succeeded');
    assert.equal(stripe.charges.length, 1);
  });

  test(`an event of a decline in ${state} cancels the intent`, async (t) => {
    const { stripe, intent, authenticate, send, payment, found } = await start(t);
    await found(`tok_requires_action_and_${state === 'calling' ? 'never_replies' : 'dropped'}`);
    authenticate(false);
    assert.equal(await send('payment_intent.payment_failed'), 200);
    const { status, decline_code } = await payment();
    assert.deepEqual([status, decline_code], ['declined', 'payment_intent_authentication_failure']);
    assert.equal(intent().status, 'canceled');
    assert.deepEqual(stripe.charges, []);
  });
}

for (const how of ['a look-up', 'a cancellation'] as const) {
  test(`${how} that finds a decline cancels the intent first`, async (t) => {
    const { service, stripe, intent, at, status } = await start(t);
    stripe.command({ set: { failsCancels: true } });
    const lost = await service.post(path, { ...request, token: 'tok_declined_and_dropped' }, key);
    assert.equal(lost.status, 504, lost.text);
    if (how === 'a cancellation') await service.post(`${at()}/cancel`, {});
    const lookUps = () => stripe.requests.filter(({ path: asked }) => asked.endsWith('/cancel')).length;
    for (const giveUpAt = Date.now() + givenUpMs; lookUps() < 2; await sleep(20))
      assert.ok(Date.now() < giveUpAt);
    assert.equal(await status(), 'in_doubt');
    stripe.command({ set: { failsCancels: false } });
    assert.equal((await paymentAfter(service, at(), open)).status, 'declined');
    assert.equal(intent().status, 'canceled');
  });
}

test('a charge that is declined at once has no open intent', async (t) => {
  const { service, intent } = await start(t);
  const { status, json } = await service.post(path, { ...request, token: 'tok_insufficient_funds' }, key);
  const { code, decline_code, message } = json.body.error;
  assert.deepEqual([status, code, decline_code], [402, 'card_declined', 'insufficient_funds']);
  assert.equal(message, 'The card was declined.');
  assert.equal(intent().status, 'canceled');
});

test('a decline whose intent cannot be canceled is in doubt, until it is', async (t) => {
  const { service, stripe, intent, at, payment } = await start(t);
  stripe.command({ set: { failsCancels: true } });
  const lost = await service.post(path, { ...request, token: 'tok_insufficient_funds' }, key);
  assert.equal(lost.status, 504, lost.text);
  stripe.command({ set: { failsCancels: false } });
  await paymentAfter(service, at(), open);
  const { status, decline_code } = await payment();
  assert.deepEqual([status, decline_code, intent().status], ['declined', 'insufficient_funds', 'canceled']);
});

async function start(t: TestContext) {
  const started = await startWithStripe(t, { file: writeSettings(t, settings) });
  const { service, stripe } = started;
  let location = '';
  const intent = () => stripe.records().intents.find(({ metadata }) => metadata.seat) as Intent;
  const at = () => location || `${path}/${intent().metadata.counterfoil_payment_id}`;
  const payment = async () => (await service.get(at())).json.body;
  return {
    ...started,
    intent,
    at,
    payment,
    status: async (): Promise<string> => (await payment()).status,
    authenticate: (isCardholder: boolean) =>
      stripe.command({ authenticate: { id: intent().id, isCardholder } }),
    send: (type: string) =>
      post(`${service.origin}/stage/events/stripe`, deliveryOf(eventOf(type, intent()))),
    /** Requests a charge whose challenge is at Stripe, and whose reply is not here. */
    found: async (token: string) => {
      const paying = service.post(path, { ...request, token }, key).catch(() => undefined);
      for (const giveUpAt = Date.now() + givenUpMs; intent()?.status !== 'requires_action'; await sleep(5))
        assert.ok(Date.now() < giveUpAt);
      if (token.endsWith('dropped')) location = (await paying)?.headers.get('location') ?? '';
    },
  };
}
