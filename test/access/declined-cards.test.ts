import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { paymentsSpace } from '../../src/payments/payment.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import { bearing, newKey } from '../support/access/keys.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { path, paymentAfter, startWithStripe } from '../support/payments/stripe-service.ts';
import { newDataFolder, openStoreOf, type TestResponse } from '../support/service.ts';
import { deliveryOf, eventOf, post } from '../support/stripe/events.ts';
import type { Intent } from '../support/stripe/objects.ts';

const origin = 'https://shop.example';
const hourMax = 5;
const buyer = '192.0.2.77';
const open = ['calling', 'in_doubt'];

/** Each way in which a declined card is found out, and how many of them count once. */
const roads = [
  'the reply',
  'recovery',
  'an event',
  'a cancellation',
  'a repeated request',
  'an invalid token',
] as const;

for (const road of roads) {
  test(`a declined card that ${road} reports counts once`, async (t) => {
    const { pay, ended, service, event } = await start(t);
    const lost = 'tok_declined_and_dropped';
    if (road === 'the reply') assert.equal((await pay('tok_insufficient_funds')).status, 402);
    if (road === 'recovery') assert.equal(await ended(pay(lost)), 'declined');
    if (road === 'an invalid token') assert.equal((await pay('tok_nobody')).status, 400);
    if (road === 'a repeated request') {
      const first = await pay(lost, { cart: 'cart-7' });
      assert.equal(await ended(Promise.resolve(first)), 'declined');
      for (let n = 0; n < 3; n++) assert.equal((await pay(lost, { cart: 'cart-7' })).status, 402);
    }
    if (road === 'an event') {
      const { headers } = await pay(lost);
      for (let n = 0; n < 2; n++) assert.equal(await event(headers), 200);
      assert.equal((await service.get(headers.get('location') ?? '')).json.body.status, 'declined');
      assert.equal(await event(headers), 200);
    }
    if (road === 'a cancellation') {
      const { headers } = await pay(lost);
      const at = headers.get('location') ?? '';
      for (let n = 0; n < 2; n++) await service.post(`${at}/cancel`, {});
      assert.equal((await paymentAfter(service, at, open)).status, 'declined');
    }
    for (let n = 1; n < hourMax; n++) assert.equal((await pay('tok_generic_decline')).status, 402);
    assert.equal((await pay('tok_paid')).status, 429);
  });
}

test('a card that was charged counts for nothing, however late that is found out', async (t) => {
  const { pay, ended } = await start(t);
  for (let n = 0; n < 2; n++) assert.equal(await ended(pay('tok_dropped_after_charging')), 'succeeded');
  for (let n = 0; n < hourMax; n++) assert.equal((await pay('tok_generic_decline')).status, 402);
  assert.equal((await pay('tok_paid')).status, 429);
});

test('an address whose replies are all lost tries five declined cards an hour, and no more, found out at the same time', async (t) => {
  const { pay, ended, stripe } = await start(t);
  const lost = await Promise.all(Array.from({ length: hourMax }, () => pay('tok_declined_and_dropped')));
  assert.ok(lost.every(({ status }) => status === 504));
  stripe.repair();
  for (const state of await Promise.all(lost.map((each) => ended(Promise.resolve(each)))))
    assert.equal(state, 'declined');
  assert.equal((await pay('tok_paid')).status, 429);
  assert.equal((await pay('tok_paid', { address: '198.51.100.1' })).status, 200);
});

test('no record of an ended payment has the address of its buyer', async (t) => {
  const { pay, ended, service } = await start(t);
  await pay('tok_paid');
  await pay('tok_insufficient_funds');
  await ended(pay('tok_declined_and_dropped'));
  await service.stop();
  assert.ok(!service.logged().includes(buyer));
  const store = await openStoreOf(service.data);
  t.after(() => store.close());
  const scan = await store.scan(paymentsSpace);
  const records = await Array.fromAsync(itemsOf(scan?.chunks ?? []), ({ name }) => name);
  assert.equal(records.length, 3);
  assert.ok(!/BuyerAddress/.test(records.join()) && !records.join().includes(buyer));
});

/** A shop with Stripe and a publishable key behind a proxy. */
async function start(t: TestContext) {
  const data = newDataFolder(t);
  const key = await newKey(data, { kind: 'publishable', scopes: ['payments:create'], origins: [origin] });
  const started = await startWithStripe(t, {
    data,
    file: writeSettings(t, {
      payments: { routes: { charge: { price: 'payer', minimum: 1, maximum: 10_000 } } },
    }),
    env: {
      COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.1',
      COUNTERFOIL_LIMIT_CHARGES: '100000',
      COUNTERFOIL_LIMIT_DECLINES: String(hourMax),
    },
  });
  const { service, stripe } = started;
  const pay = (
    token: string,
    { address = buyer, cart }: { address?: string; cart?: string } = {},
  ): Promise<TestResponse> =>
    service.post(
      path,
      { amount: 1_050, currency: 'EUR', token },
      {
        ...bearing(key),
        origin,
        'x-forwarded-for': address,
        ...(cart === undefined ? {} : { 'idempotency-key': cart }),
      },
    );
  return {
    ...started,
    pay,
    /** The state of the payment, once it is known. */
    ended: async (paying: Promise<TestResponse>): Promise<string> => {
      const { status, headers, text } = await paying;
      assert.equal(status, 504, text);
      return (await paymentAfter(service, headers.get('location') ?? '', open)).status;
    },
    event: (headers: Headers) => {
      const intent = stripe
        .records()
        .intents.find(({ metadata }) => metadata.counterfoil_payment_id === headers.get('payment-id'));
      const sent = eventOf('payment_intent.payment_failed', intent as Intent);
      return post(`${service.origin}/stage/events/stripe`, deliveryOf(sent));
    },
  };
}
