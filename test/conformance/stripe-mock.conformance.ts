import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripeProcessor } from '../../src/processors/stripe/stripe.ts';
import { chargeOf } from '../contracts/processor.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { startTestService, type TestService } from '../support/service.ts';

/**
 * The service with stripe-mock, which checks every request against Stripe's OpenAPI document and responds from
 * fixtures. `npm run test:conformance` starts it.
 */
const origin = fromEnvironment('STRIPE_MOCK_ORIGIN');
const logFile = fromEnvironment('STRIPE_MOCK_LOG');
const key = 'sk_test_123';
const path = '/stage/payment/stripe/charge';

function fromEnvironment(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set; run: npm run test:conformance`);
  return value;
}

function start(t: TestContext): Promise<TestService> {
  return startTestService(t, { env: { COUNTERFOIL_STRIPE_KEY: key, COUNTERFOIL_STRIPE_API_BASE: origin } });
}

interface Exchange {
  readonly request: string;
  /** The form fields, as Go prints a map. */
  readonly data: string;
  readonly status: number;
}

/** The requests of `act` in the log of stripe-mock, with the status of each. */
async function exchangesOf(count: number, act: () => Promise<void>): Promise<Exchange[]> {
  const before = readFileSync(logFile, 'utf8').length;
  await act();
  const giveUpAt = Date.now() + givenUpMs;
  while (Date.now() < giveUpAt) {
    const exchanges = exchangesIn(readFileSync(logFile, 'utf8').slice(before));
    if (exchanges.length >= count) return exchanges;
    await sleep(20);
  }
  throw new Error(`stripe-mock did not log ${count} requests`);
}

function exchangesIn(log: string): Exchange[] {
  return log.split(/^Request: /m).flatMap((text) => {
    const [request = ''] = text.split('\n');
    const status = /^Response: .*status=(\d+)$/m.exec(text)?.[1];
    const data = /^Request data = (.*)$/m.exec(text)?.[1] ?? '';
    // A service reads its Stripe account once, at its first charge.
    if (status === undefined || request === 'GET /v1/account') return [];
    return [{ request, data, status: Number(status) }];
  });
}

test('stripe-mock rejects a request that is not in the OpenAPI document', async () => {
  const exchanges = await exchangesOf(1, async () => {
    const response = await fetch(`${origin}/v1/payment_intents`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: new URLSearchParams({ amount: '1050', currency: 'eur', no_such_parameter: 'x' }),
    });
    await response.text();
  });
  assert.deepEqual(
    exchanges.map(({ status }) => status),
    [400],
  );
});

for (const currency of ['EUR', 'usd', 'JPY']) {
  test(`stripe-mock accepts both requests of a charge in ${currency}`, async (t) => {
    const service = await start(t);
    let paymentId = '';
    const exchanges = await exchangesOf(2, async () => {
      const response = await service.post(path, { amount: 1_050, currency, token: 'tok_visa' });
      paymentId = response.headers.get('payment-id') ?? '';
    });
    assert.deepEqual(
      exchanges.map(({ request, status }) => [request, status]),
      [
        ['POST /v1/payment_methods', 200],
        ['POST /v1/payment_intents', 200],
      ],
    );
    const [method, intent] = exchanges;
    assert.match(method?.data ?? '', /token:tok_visa/);
    assert.match(intent?.data ?? '', new RegExp(`amount:1050.* currency:${currency.toLowerCase()}`));
    assert.ok(intent?.data.includes(`counterfoil_payment_id:${paymentId}`));
  });
}

test('stripe-mock accepts the one request of a charge by payment method', async (t) => {
  const service = await start(t);
  const exchanges = await exchangesOf(1, async () => {
    await service.post(path, { amount: 1_050, currency: 'EUR', token: 'pm_card_visa' });
  });
  assert.deepEqual(
    exchanges.map(({ request, status }) => [request, status]),
    [['POST /v1/payment_intents', 200]],
  );
});

test('stripe-mock accepts the requests of a charge that waits for its cardholder', async () => {
  const processor = await stripeProcessor({ key, apiBase: origin, webhookSecrets: [] });
  const now = Date.now();
  const sought = {
    paymentId: 'pay_1',
    attemptId: 'pi_1',
    requestedFrom: now,
    requestedUntil: now,
    timeoutMs: 10_000,
  };
  const exchanges = await exchangesOf(3, async () => {
    await processor.charge({ ...chargeOf('pm_card_visa'), returnUrl: 'https://shop.example/paid' });
    await processor.findCharge(sought);
    await processor.cancelCharge({ ...sought, processorKey: 'cf_1', currency: 'EUR', silentMs: 0 });
  });
  assert.deepEqual(
    exchanges.map(({ request, status }) => [request, status]),
    [
      ['POST /v1/payment_intents', 200],
      ['GET /v1/payment_intents/pi_1', 200],
      ['POST /v1/payment_intents/pi_1/cancel', 200],
    ],
  );
  assert.match(exchanges[0]?.data ?? '', /return_url:https:\/\/shop\.example\/paid/);
});

test('stripe-mock accepts a charge with 49 keys of metadata and all details', async (t) => {
  const service = await start(t);
  const metadata = Object.fromEntries(
    Array.from({ length: 49 }, (_, n) => [`key_${n}.a-b`, 'v'.repeat(500)]),
  );
  const details = {
    description: 'Zwei Plakate, signiert: é€😀',
    statement_descriptor_suffix: 'POSTERS 2',
    receipt_email: 'ada@example.org',
  };
  const exchanges = await exchangesOf(1, async () => {
    await service.post(path, {
      ...{ amount: 1_050, currency: 'EUR', token: 'pm_card_visa' },
      metadata,
      ...details,
    });
  });
  const [intent] = exchanges;
  assert.deepEqual([intent?.request, intent?.status], ['POST /v1/payment_intents', 200]);
  for (const text of [...Object.values(details), 'key_48.a-b:vvv', 'counterfoil_payment_id:pay_'])
    assert.ok(intent?.data.includes(text), text);
});

test('returns 402 for a PaymentIntent that has not succeeded, although Stripe returned 200', async (t) => {
  const service = await start(t);
  const body = { amount: 1_050, currency: 'EUR', token: 'tok_visa' };
  const response = await service.post(path, body, { 'idempotency-key': 'order-1042' });
  assert.equal(response.status, 402, response.text);
  const { error, message } = response.json.body;
  assert.deepEqual([error.code, error.decline_code], ['card_declined', 'generic_decline']);
  assert.deepEqual(message, { message: error.message });
  const payment = await service.get(response.headers.get('location') ?? '');
  assert.deepEqual([payment.json.body.status, payment.json.body.charge_id], ['declined', null]);
  const again = await service.post(path, body, { 'idempotency-key': 'order-1042' });
  assert.equal(again.text, response.text);
});

test('returns a final error for an amount that Stripe rejects', async () => {
  const processor = await stripeProcessor({ key, apiBase: origin, webhookSecrets: [] });
  // Sent as "1e+21". The service itself rejects such an amount, so the adapter is called directly.
  const exchanges = await exchangesOf(2, async () => {
    const outcome = await processor.charge(chargeOf('tok_visa', { amount: 1e21 }));
    assert.equal(outcome.kind, 'rejected');
  });
  assert.deepEqual(
    exchanges.map(({ request, status }) => [request, status]),
    [
      ['POST /v1/payment_methods', 200],
      ['POST /v1/payment_intents', 400],
    ],
  );
});

test('stripe-mock accepts every request that searches, refunds and lists charges', async () => {
  const processor = await stripeProcessor({ key, apiBase: origin, webhookSecrets: [] });
  const now = Date.now();
  const paymentId = `pay_${'0'.repeat(32)}`;
  const refundId = `ref_${'0'.repeat(32)}`;
  const search = { paymentId, requestedFrom: now - 60_000, requestedUntil: now, timeoutMs: 5_000 };
  const refund = { refundId, paymentId, chargeId: 'ch_123', amount: 500, currency: 'EUR', timeoutMs: 5_000 };
  const exchanges = await exchangesOf(5, async () => {
    // The search always finds the one fixture, so that the adapter does not request the list.
    await processor.findCharge(search);
    await processor.refund({ ...refund, processorKey: 'cf_1' });
    await processor.findRefund(refund);
    await processor.findOwner('ch_123', 5_000);
    for await (const charge of processor.charges({ from: now - 60_000, until: now })) void charge;
  });
  assert.ok(exchanges.every(({ status }) => status === 200));
  assert.deepEqual(
    exchanges.map(({ request }) => request.replace(/\?.*/, '')),
    [
      'GET /v1/payment_intents/search',
      'POST /v1/refunds',
      'GET /v1/refunds',
      'GET /v1/charges/ch_123',
      'GET /v1/charges',
    ],
  );
});
