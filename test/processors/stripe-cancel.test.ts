import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { CanceledCharge, ConnectedProcessor } from '../../src/processors/processor.ts';
import { stripeProcessor } from '../../src/processors/stripe/stripe.ts';
import { chargeOf } from '../contracts/processor.ts';
import { openStripe } from '../support/stripe/adapter.ts';

function canceledNow(fields: Partial<CanceledCharge> = {}): CanceledCharge {
  const now = Date.now();
  return {
    paymentId: 'pay_0190a1b2c3d4e5f60718293a4b5c6d7e',
    processorKey: 'cf_0123456789',
    silentMs: -29_000,
    currency: 'EUR',
    requestedFrom: now - 1_000,
    requestedUntil: now + 30_000,
    timeoutMs: 5_000,
    ...fields,
  };
}

/** A Stripe that is processing a charge: the key is in use, and the charge is not in its records yet. */
async function workingStripe(t: TestContext, status: number, error: object) {
  const server = createServer((request, response) => {
    const isCreation = request.method === 'POST';
    const list = { object: 'list', data: [], has_more: false, url: request.url };
    request.resume();
    response.writeHead(isCreation ? status : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isCreation ? { error } : list));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const apiBase = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return stripeProcessor({ key: 'sk_test_scripted', apiBase, webhookSecrets: [] });
}

test('stripe: a charge whose key is used, and which is not in the records yet, is not reported as canceled', async (t) => {
  const processor = await workingStripe(t, 400, { type: 'idempotency_error' });
  assert.equal((await processor.cancelCharge(canceledNow())).kind, 'unknown');
});

test('stripe: a charge is canceled whatever its amount, even one that Stripe would not accept', async (t) => {
  // Stripe has no fractions of an ariary; the process died before Stripe rejected the amount.
  const { processor } = await openStripe(t);
  const outcome = await processor.cancelCharge(canceledNow({ currency: 'MGA' }));
  assert.deepEqual(outcome, { kind: 'canceled' });
});

/** Long after the last request for it. */
const silentMs = 61_000;
const canceledKind = async (processor: ConnectedProcessor, fields: Partial<CanceledCharge> = {}) =>
  (await processor.cancelCharge(canceledNow({ silentMs, ...fields }))).kind;

for (const fences of ['fail', 'fail after', 'dropped'] as const) {
  test(`stripe: a fence whose reply was lost (${fences}) has taken the key: the next one ends the charge`, async (t) => {
    const { processor, stripe } = await openStripe(t);
    stripe.command({ set: { fences } });
    assert.equal(await canceledKind(processor), 'unknown', 'the first reply proves nothing');
    stripe.command({ set: { fences: 'work' } });
    assert.equal(await canceledKind(processor), 'canceled');
    const late = { ...chargeOf('tok_paid'), processorKey: canceledNow().processorKey };
    assert.notEqual((await processor.charge(late)).kind, 'succeeded', 'the key is out of use');
    assert.deepEqual(stripe.charges, []);
  });
}

test('stripe: while a request may be at work, a fence that failed ends nothing', async (t) => {
  const { processor, stripe } = await openStripe(t);
  stripe.command({ set: { fences: 'fail' } });
  for (let n = 0; n < 3; n++) assert.equal(await canceledKind(processor, { silentMs: 59_000 }), 'unknown');
});

test('stripe: an error of a gateway, which Stripe does not store, ends nothing however often it comes', async (t) => {
  const { processor, stripe } = await openStripe(t);
  stripe.command({ set: { fences: 'gateway' } });
  for (let n = 0; n < 3; n++) assert.equal(await canceledKind(processor), 'unknown');
});

test('stripe: a fence that fails as the charge is found leaves the charge as it was made', async (t) => {
  const { processor, stripe } = await openStripe(t);
  const made = chargeOf('tok_paid');
  const { paymentId, processorKey } = made;
  stripe.command({ set: { fences: 'fail' } });
  assert.equal(await canceledKind(processor, { paymentId }), 'unknown');
  // The fence had another key, as when the idempotency layer has lost the charge's.
  assert.equal((await processor.charge(made)).kind, 'succeeded');
  assert.equal(await canceledKind(processor, { paymentId }), 'succeeded');
  assert.equal(await canceledKind(processor, { paymentId, processorKey }), 'succeeded');
  assert.equal(stripe.charges.length, 1);
});

test('stripe: a key in use is no proof: the charge may be arriving now, however late', async (t) => {
  const processor = await workingStripe(t, 409, {
    type: 'idempotency_error',
    code: 'idempotency_key_in_use',
  });
  assert.equal(await canceledKind(processor), 'unknown');
});
