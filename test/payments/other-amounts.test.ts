import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { runCommand } from '../support/command.ts';
import { seatSettings } from '../support/payments/seats.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { chargeRequest, path, paymentAfter, startWithStripe } from '../support/payments/stripe-service.ts';
import { deliveryOf, eventOf, post } from '../support/stripe/events.ts';
import type { Intent } from '../support/stripe/objects.ts';

const key = { 'idempotency-key': 'order-1042' };
const open = ['calling', 'in_doubt'];

test('a reply with another amount than was requested needs review, with both amounts', async (t) => {
  const { pay, assertInReview } = await start(t);
  assert.equal((await pay('tok_other_amount')).status, 504);
  await assertInReview('900 EUR');
});

test('a look-up that finds another amount needs review', async (t) => {
  const { pay, service, at, assertInReview } = await start(t);
  assert.equal((await pay('tok_other_amount_and_dropped')).status, 504);
  await paymentAfter(service, at(), open);
  await assertInReview('900 EUR');
});

const others: readonly (readonly [string, Partial<Intent>])[] = [
  ['900 EUR', { amount_received: 900 }],
  ['2000 EUR', { amount_received: 2_000 }],
  ['1050 USD', { currency: 'usd' }],
];
for (const [taken, fields] of others) {
  test(`a signed success over ${taken} for a payment of 1050 EUR needs review`, async (t) => {
    const { pay, stripe, send, assertInReview } = await start(t);
    stripe.command({ set: { rejectsReads: true } });
    assert.equal((await pay('pm_dropped_after_charging')).status, 504);
    assert.equal(await send(fields), 200);
    await assertInReview(taken);
    // The same event, and a true one that comes later: a person decides.
    assert.equal(await send(fields), 200);
    assert.equal(await send({}), 200);
    await assertInReview(taken);
  });
}

test('a signed success with another amount overrides a decline, and needs review', async (t) => {
  const { pay, send, assertInReview } = await start(t);
  assert.equal((await pay('tok_insufficient_funds')).status, 402);
  assert.equal(await send({ status: 'succeeded', amount_received: 900, latest_charge: 'ch_9' }), 200);
  await assertInReview('900 EUR', 'not_made');
});

test('a success that was recorded stays as it is when an event has another amount, and the log says so', async (t) => {
  const { pay, send, service, at } = await start(t);
  assert.equal((await pay('tok_paid')).status, 200);
  assert.equal(await send({ amount_received: 900 }), 200);
  assert.equal((await service.get(at())).json.body.status, 'succeeded');
  assert.match(service.logged(), /charge_of_another_amount/);
});

test('payments resolve makes the item of a charge with another amount', async (t) => {
  const { pay, service, stripe, at } = await start(t);
  await pay('tok_other_amount');
  const { id, charge_id } = (await service.get(at())).json.body;
  const args = ['payments', 'resolve', id, '--succeeded', charge_id];
  const resolved = await runCommand(args, {
    COUNTERFOIL_DATA: service.data,
    COUNTERFOIL_STRIPE_KEY: stripe.key,
    COUNTERFOIL_STRIPE_API_BASE: stripe.origin,
  });
  assert.equal(resolved.errors, '');
  const { status, item } = (await service.get(at())).json.body;
  assert.deepEqual([status, item.status], ['succeeded', 'made']);
});

async function start(t: TestContext) {
  const started = await startWithStripe(t, { file: writeSettings(t, seatSettings({})) });
  const { service, stripe } = started;
  const request = { ...chargeRequest, metadata: { seat: '12A' } };
  let location = '';
  const at = () => location;
  const pay = async (token: string) => {
    const response = await service.post(path, { ...request, token }, key);
    location = response.headers.get('location') ?? '';
    return response;
  };
  let token = '';
  return {
    ...started,
    at,
    pay: (sent: string) => {
      token = sent;
      return pay(sent);
    },
    send: (fields: Partial<Intent>) => {
      const intent = { ...(stripe.records().intents[0] as Intent), ...fields };
      return post(
        `${service.origin}/stage/events/stripe`,
        deliveryOf(eventOf('payment_intent.succeeded', intent)),
      );
    },
    /** @param taken as the message names it */
    assertInReview: async (taken: string, item = 'awaited') => {
      const { json } = await service.get(at());
      assert.deepEqual([json.body.status, json.body.item.status], ['needs_review', item]);
      assert.match(json.body.charge_id, /^ch_/);
      const again = await pay(token);
      assert.equal(again.status, 504);
      assert.equal(again.json.body.error.retryable, false);
      assert.ok(again.json.body.error.message.includes(`${taken} `), again.text);
      assert.match(again.json.body.error.message, /1050 EUR/);
      const seats = await service.get('/v3/table/seats/read');
      assert.ok(seats.status === 404 || seats.json.body.length === 0);
      assert.match(service.logged(), new RegExp(`${taken} instead of 1050 EUR.*charge_of_another_amount`));
    },
  };
}
