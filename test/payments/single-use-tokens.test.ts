import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startTestService } from '../support/service.ts';
import { singleUseToken, startScriptedStripe } from '../support/stripe/scripted-stripe.ts';

const path = '/stage/payment/stripe/charge';
const request = { amount: 1_050, currency: 'EUR', token: singleUseToken };

async function start(t: TestContext) {
  const stripe = await startScriptedStripe(t);
  const env = { COUNTERFOIL_STRIPE_KEY: stripe.key, COUNTERFOIL_STRIPE_API_BASE: stripe.origin };
  return { service: await startTestService(t, { env }), stripe };
}

test('a single-use token is itself the idempotency key', async (t) => {
  const { service, stripe } = await start(t);
  const first = await service.post(path, request);
  assert.equal(first.status, 200);
  const again = await service.post(path, request);
  assert.equal(again.text, first.text);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.equal(stripe.charges.length, 1);
  assert.equal(stripe.requests.length, 2);
});

test('charges once when ten callers share a single-use token', async (t) => {
  const { service, stripe } = await start(t);
  const responses = await Promise.all(Array.from({ length: 10 }, () => service.post(path, request)));
  assert.deepEqual([...new Set(responses.map(({ status }) => status))], [200]);
  assert.equal(new Set(responses.map(({ text }) => text)).size, 1);
  assert.equal(stripe.charges.length, 1);
});

test('rejects another amount with a used token, naming the amount', async (t) => {
  const { service, stripe } = await start(t);
  await service.post(path, request);
  const other = await service.post(path, { ...request, amount: 9_900 });
  assert.equal(other.status, 422);
  assert.equal(other.json.body.error.param, 'amount');
  assert.equal(stripe.charges.length, 1);
});

test('a key of the caller takes precedence over the token: the same token under another key is a new charge', async (t) => {
  const { service, stripe } = await start(t);
  assert.equal((await service.post(path, request, { 'idempotency-key': 'a' })).status, 200);
  const again = await service.post(path, request, { 'idempotency-key': 'b' });
  assert.deepEqual([again.status, again.json.body.error.param], [400, 'token'], 'Stripe rejects it');
  assert.equal(stripe.charges.length, 1);
});

for (const token of ['tok_visa', 'tok_mastercard_debit', 'pm_card_visa']) {
  test(`${token} can be used again, and is not an idempotency key`, async (t) => {
    const { service, stripe } = await start(t);
    const first = await service.post(path, { ...request, token });
    const second = await service.post(path, { ...request, token });
    assert.deepEqual([first.status, second.status], [200, 200]);
    assert.notEqual(second.text, first.text);
    assert.equal(second.headers.get('idempotent-replayed'), null);
    assert.equal(stripe.charges.length, 2);
  });
}

test('frees a single-use token when Stripe rejected the charge without processing it', async (t) => {
  const { service, stripe } = await start(t);
  stripe.turnsAway = true;
  assert.equal((await service.post(path, request)).status, 502);
  stripe.repair();
  assert.equal((await service.post(path, request)).status, 200);
  assert.equal(stripe.charges.length, 1);
});
