import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from '../support/busy-machine.ts';
import {
  authenticate,
  begin,
  type Challenge,
  challengeSettings,
  deadlineMs,
  ended,
  key,
  request,
  seats,
} from '../support/payments/challenge.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { chargeRequest, path, paymentAfter, startWithStripe } from '../support/payments/stripe-service.ts';
import { deliveryOf, eventOf, post } from '../support/stripe/events.ts';
import type { Intent } from '../support/stripe/objects.ts';

for (const how of ['the return of the cardholder', 'a signed event', 'recovery'] as const) {
  for (const isCardholder of [true, false]) {
    test(`${how} ${isCardholder ? 'makes' : 'declines'} a charge that waited for its cardholder`, async (t) => {
      const challenge = await begin(t);
      const { stripe, service, clock, intent, send, at } = challenge;
      authenticate(challenge, isCardholder);
      if (how === 'a signed event') {
        const type = isCardholder ? 'payment_intent.succeeded' : 'payment_intent.payment_failed';
        assert.equal(await send(type), 200);
      }
      // Far enough for the next look-up of recovery, not for the deadline; the list looks nothing up.
      if (how === 'recovery') clock.aheadMs = deadlineMs / 2;
      const payment = how === 'recovery' ? await listed(challenge) : await ended(challenge);
      assert.equal(payment.status, isCardholder ? 'succeeded' : 'declined');
      assert.equal(intent().status, isCardholder ? 'succeeded' : 'canceled');
      assert.deepEqual(await seats(challenge), isCardholder ? ['A-7'] : []);
      const last = await service.post(path, request, key);
      assert.equal(last.status, isCardholder ? 200 : 402);
      assert.equal(stripe.charges.length, isCardholder ? 1 : 0);
      assert.ok(!('next_action' in (await service.get(at)).json.body));
      if (isCardholder) return;
      assert.equal(payment.decline_code, 'payment_intent_authentication_failure');
      // The seat is free again.
      const next = await service.post(path, {
        ...chargeRequest,
        token: 'tok_paid',
        metadata: request.metadata,
      });
      assert.equal(next.status, 200, next.text);
    });
  }
}

async function listed({ service }: Challenge) {
  const giveUpAt = Date.now() + givenUpMs;
  for (;;) {
    const [payment] = (await service.get(path)).json.body;
    if (payment.status !== 'requires_action') return payment;
    assert.ok(Date.now() < giveUpAt, 'it still waits');
    await sleep(50);
  }
}

test('while the processor cannot cancel it, the charge goes on waiting after its deadline', async (t) => {
  const challenge = await begin(t);
  const { clock, stripe, service, at } = challenge;
  stripe.turnsAway = true;
  clock.aheadMs = deadlineMs + 1;
  await service.get(at);
  assert.equal((await service.get(at)).json.body.status, 'requires_action');
  assert.deepEqual(await seats(challenge), []);
  stripe.turnsAway = false;
  assert.equal((await ended(challenge)).status, 'declined');
});

test('a cardholder who authenticates just before the cancellation has paid', async (t) => {
  const challenge = await begin(t);
  challenge.clock.aheadMs = deadlineMs + 1;
  authenticate(challenge, true);
  assert.equal((await ended(challenge)).status, 'succeeded');
  assert.deepEqual(await seats(challenge), ['A-7']);
});

test('a failed authentication is declined only once nobody can pay with another card', async (t) => {
  const challenge = await begin(t);
  const { stripe, service, at, send } = challenge;
  authenticate(challenge, false);
  stripe.turnsAway = true;
  assert.equal(await send('payment_intent.payment_failed'), 200);
  assert.equal((await service.get(at)).json.body.status, 'requires_action');
  // The page confirms the open intent with another card.
  authenticate(challenge, true);
  stripe.turnsAway = false;
  assert.equal((await ended(challenge)).status, 'succeeded');
  assert.equal(stripe.charges.length, 1);
});

test('a success that the processor reports after the cancellation overrides the decline', async (t) => {
  const challenge = await begin(t);
  const { service, intent, at } = challenge;
  challenge.clock.aheadMs = deadlineMs + 1;
  assert.equal((await ended(challenge)).status, 'declined');
  challenge.clock.aheadMs = 0;
  const { amount: amount_received } = intent();
  const late: Intent = { ...intent(), status: 'succeeded', amount_received, latest_charge: 'ch_late' };
  const delivery = deliveryOf(eventOf('payment_intent.succeeded', late));
  assert.equal(await post(`${service.origin}/stage/events/stripe`, delivery), 200);
  const { status, charge_id: chargeId } = (await service.get(at)).json.body;
  assert.deepEqual([status, chargeId], ['succeeded', 'ch_late']);
});

test('the shop can cancel a charge that waits for its cardholder', async (t) => {
  const challenge = await begin(t);
  const { service, at, intent } = challenge;
  const { json } = await service.post(`${at}/cancel`, {});
  assert.deepEqual([json.body.status, json.body.decline_code], ['declined', 'canceled']);
  assert.equal(intent().status, 'canceled');
});

test('a reply that was lost is found again: the charge waits, and the same request returns the next action', async (t) => {
  const { service, stripe } = await startWithStripe(t, { file: writeSettings(t, challengeSettings) });
  const lost = { ...request, token: 'tok_requires_action_and_dropped' };
  const response = await service.post(path, lost, key);
  assert.equal(response.status, 504, response.text);
  stripe.repair();
  const at = response.headers.get('location') ?? '';
  const payment = await paymentAfter(service, at, ['calling', 'in_doubt']);
  assert.equal(payment.status, 'requires_action');
  const again = await service.post(path, lost, key);
  assert.equal(again.json.body.error.next_action.url, payment.next_action.url);
  assert.equal(stripe.records().intents.length, 1);
});

test('the record of a payment shows no secret of the processor', async (t) => {
  const { service, intent } = await begin(t);
  assert.ok(!service.logged().includes(intent().client_secret ?? '?'));
  assert.ok(!service.logged().includes('hooks.stripe.com'));
});

test('however often a waiting payment is retrieved, the processor is asked about once a second', async (t) => {
  const challenge = await begin(t);
  const { service, at, stripe, intent } = challenge;
  const before = performance.now();
  for (let count = 0; count < 50; count++) await service.get(at);
  const seconds = (performance.now() - before) / 1_000;
  const asked = stripe.requests.filter(({ path: to }) => to.endsWith(intent().id)).length;
  assert.ok(asked >= 1 && asked <= seconds + 1, `${asked} look-ups in ${seconds} s`);
});

test('events, returns and recovery that race end a charge once, and events after it change nothing', async (t) => {
  for (const isCardholder of [true, false]) {
    const challenge = await begin(t);
    const { service, stripe, clock, at, intent, send } = challenge;
    authenticate(challenge, isCardholder);
    // Recovery is due, and the signatures are not too old.
    clock.aheadMs = 240_000;
    const type = isCardholder ? 'payment_intent.succeeded' : 'payment_intent.payment_failed';
    const delivered = await Promise.all([1, 2, 3].map(() => send(type)));
    assert.deepEqual(delivered, [200, 200, 200]);
    await Promise.all(Array.from({ length: 8 }, () => service.get(at)));
    const payment = await ended(challenge);
    assert.equal(payment.status, isCardholder ? 'succeeded' : 'declined');
    assert.equal(await send(intent().status === 'canceled' ? 'payment_intent.canceled' : type), 200);
    assert.deepEqual((await service.get(at)).json.body, payment);
    assert.deepEqual(await seats(challenge), isCardholder ? ['A-7'] : []);
    assert.equal(stripe.charges.length, isCardholder ? 1 : 0);
  }
});
