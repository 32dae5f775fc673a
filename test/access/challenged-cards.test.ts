import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { paymentsSpace } from '../../src/payments/payment.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import { bearing, newKey } from '../support/access/keys.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { assertError } from '../support/http/error-response.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { path, paymentAfter, startWithStripe } from '../support/payments/stripe-service.ts';
import { newDataFolder, openStoreOf, type TestResponse } from '../support/service.ts';
import { deliveryOf, eventOf, post } from '../support/stripe/events.ts';
import type { Intent } from '../support/stripe/objects.ts';

const origin = 'https://shop.example';
const hourMax = 5;
const minuteMs = 60_000;
/** The time in which an address regains one card. */
const regainedMs = (60 * minuteMs) / hourMax;
const buyer = '192.0.2.77';
const challenged = 'tok_requires_action';

test('an address learns of five cards by their challenges, then of none', async (t) => {
  const { pay } = await start(t);
  for (let n = 0; n < hourMax; n++) await assertChallenged(pay(challenged));
  const rejected = await pay(challenged);
  assertError(rejected, { status: 429, code: 'rate_limited' });
  assert.equal(rejected.headers.get('payment-id'), null, 'nothing was reserved');
  assert.ok(Number(rejected.headers.get('retry-after')) * 1_000 <= regainedMs);
  await assertChallenged(pay(challenged, '198.51.100.1'));
});

test('challenges and declines of an address count together, and a repeated request counts once', async (t) => {
  const { pay } = await start(t);
  for (let n = 0; n < 3; n++) await assertChallenged(pay(challenged, buyer, 'cart-7'));
  for (let n = 1; n < hourMax; n++) assert.equal((await pay('tok_generic_decline')).status, 402);
  assert.equal((await pay(challenged)).status, 429);
});

for (const how of ['the return of the cardholder', 'a signed event', 'recovery'] as const) {
  test(`a challenge that succeeds is given back once, found by ${how}`, async (t) => {
    const { pay, clock, authenticate, read, listed, send } = await start(t);
    const first = await assertChallenged(pay(challenged));
    for (let n = 1; n < hourMax; n++) await assertChallenged(pay(challenged));
    assert.equal((await pay(challenged)).status, 429);
    authenticate(first, true);
    if (how === 'a signed event') assert.equal(await send(first, 'payment_intent.succeeded'), 200);
    // Far enough for the next look-up of recovery.
    if (how === 'recovery') clock.aheadMs = minuteMs;
    // A listing looks nothing up.
    assert.equal(await (how === 'recovery' ? listed : read)(first), 'succeeded');
    // Another event, and another look-up.
    await send(first, 'payment_intent.succeeded');
    assert.equal(await read(first), 'succeeded');
    await assertChallenged(pay(challenged));
    assert.equal((await pay(challenged)).status, 429);
  });
}

for (const end of ['declined', 'canceled', 'unanswered'] as const) {
  test(`a challenge that ends ${end} stays counted, once`, async (t) => {
    const { pay, clock, authenticate, read, cancel } = await start(t);
    const first = await assertChallenged(pay(challenged));
    for (let n = 2; n < hourMax; n++) await assertChallenged(pay(challenged));
    if (end === 'declined') authenticate(first, false);
    if (end === 'canceled') await cancel(first);
    if (end === 'unanswered') {
      // The time in which two cards are regained.
      clock.aheadMs = 31 * minuteMs;
      assert.equal(await read(first), 'declined');
      for (let n = 0; n < 2; n++) await assertChallenged(pay(challenged));
    }
    assert.equal(await read(first), 'declined');
    await assertChallenged(pay(challenged));
    assert.equal((await pay(challenged)).status, 429);
  });
}

test('what an address has regained during a challenge is not given back once more', async (t) => {
  const { pay, clock, authenticate, read } = await start(t);
  const first = await assertChallenged(pay(challenged));
  for (let n = 1; n < hourMax; n++) await assertChallenged(pay(challenged));
  clock.aheadMs = regainedMs + minuteMs;
  authenticate(first, true);
  assert.equal(await read(first), 'succeeded');
  await assertChallenged(pay(challenged));
  assert.equal((await pay(challenged)).status, 429);
});

test('a challenge whose reply was lost counts when it is found', async (t) => {
  const { pay, stripe, service } = await start(t);
  const lost = await pay('tok_requires_action_and_dropped');
  assert.equal(lost.status, 504, lost.text);
  stripe.repair();
  const at = lost.headers.get('location') ?? '';
  assert.equal((await paymentAfter(service, at, ['calling', 'in_doubt'])).status, 'requires_action');
  for (let n = 1; n < hourMax; n++) await assertChallenged(pay(challenged));
  assert.equal((await pay(challenged)).status, 429);
});

test('challenges of a secret key count for no address', async (t) => {
  const { service } = await start(t);
  const request = { amount: 1_050, currency: 'EUR', token: challenged, return_url: `${origin}/paid` };
  for (let n = 0; n < 2 * hourMax; n++)
    await assertChallenged(service.post(path, request, { 'x-forwarded-for': buyer }));
});

test('the record of a payment has the buyer’s address sealed, and no longer than until the charge ends', async (t) => {
  const { pay, service, authenticate, read } = await start(t);
  const passed = await assertChallenged(pay(challenged));
  await assertChallenged(pay(challenged));
  authenticate(passed, true);
  assert.equal(await read(passed), 'succeeded');
  await service.stop();
  assert.ok(!service.logged().includes(buyer));
  const store = await openStoreOf(service.data);
  t.after(() => store.close());
  const records = await Array.fromAsync(
    itemsOf((await store.scan(paymentsSpace))?.chunks ?? []),
    ({ name }) => name,
  );
  assert.deepEqual(
    records.map((record) => record.includes('"sealedBuyerAddress":"')),
    [false, true],
  );
  assert.ok(!records.join().includes(buyer));
});

interface Challenged {
  readonly at: string;
  readonly attemptId: string;
}

async function assertChallenged(paying: Promise<TestResponse>): Promise<Challenged> {
  const { status, headers, json, text } = await paying;
  assert.equal(status, 402, text);
  const action = json.body.error.next_action;
  assert.ok(action !== undefined, text);
  return {
    at: headers.get('location') ?? '',
    attemptId: action.client_secret.split('_secret')[0],
  };
}

/** A shop with Stripe and a publishable key behind a proxy. */
async function start(t: TestContext) {
  const data = newDataFolder(t);
  const key = await newKey(data, { kind: 'publishable', scopes: ['payments:create'], origins: [origin] });
  const route = { price: 'payer', minimum: 1, maximum: 10_000, return_urls: [origin] };
  const started = await startWithStripe(t, {
    data,
    file: writeSettings(t, { payments: { routes: { charge: route } } }),
    env: {
      COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.1',
      COUNTERFOIL_LIMIT_CHARGES: '100000',
      COUNTERFOIL_LIMIT_DECLINES: String(hourMax),
    },
  });
  const { service, stripe } = started;
  const intentOf = ({ attemptId }: Challenged) =>
    stripe.records().intents.find(({ id }) => id === attemptId) as Intent;
  const status = async ({ at }: Challenged) => (await paymentAfter(service, at, ['requires_action'])).status;
  return {
    ...started,
    pay: (token: string, address = buyer, cart?: string): Promise<TestResponse> =>
      service.post(
        path,
        { amount: 1_050, currency: 'EUR', token, return_url: `${origin}/paid` },
        {
          ...bearing(key),
          origin,
          'x-forwarded-for': address,
          ...(cart === undefined ? {} : { 'idempotency-key': cart }),
        },
      ),
    authenticate: (challenge: Challenged, isCardholder: boolean) =>
      stripe.command({ authenticate: { id: challenge.attemptId, isCardholder } }),
    read: status,
    listed: async ({ at }: Challenged) => {
      for (const giveUpAt = Date.now() + givenUpMs; ; await sleep(50)) {
        const payments: readonly { id: string; status: string }[] = (await service.get(path)).json.body;
        const found = payments.find(({ id }) => at.endsWith(id))?.status;
        if (found !== 'requires_action') return found;
        assert.ok(Date.now() < giveUpAt, 'it still waits');
      }
    },
    cancel: ({ at }: Challenged) => service.post(`${at}/cancel`, {}),
    send: (challenge: Challenged, type: string) =>
      post(`${service.origin}/stage/events/stripe`, deliveryOf(eventOf(type, intentOf(challenge)))),
  };
}
