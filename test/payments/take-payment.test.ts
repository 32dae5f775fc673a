import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { decliningTokens, MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { startTestService, type TestResponse, type TestService } from '../support/service.ts';
import { startScriptedStripe } from '../support/stripe/scripted-stripe.ts';

const path = '/stage/payment/simulated/charge';
const request = { amount: 1_050, currency: 'EUR', token: 'tok_paid' };

async function start(t: TestContext): Promise<{ service: TestService; ledger: MemoryLedger }> {
  const ledger = new MemoryLedger();
  const { origin } = await startLedger(t, ledger);
  return { service: await startTestService(t, { env: { COUNTERFOIL_SIMULATED_LEDGER: origin } }), ledger };
}

async function startWithStripe(t: TestContext) {
  const stripe = await startScriptedStripe(t);
  const env = { COUNTERFOIL_STRIPE_KEY: stripe.key, COUNTERFOIL_STRIPE_API_BASE: stripe.origin };
  return { service: await startTestService(t, { env }), stripe };
}

test('responds to a payment exactly as documented', async (t) => {
  const { service, ledger } = await start(t);
  const response = await service.post(path, request);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'application/json');
  const chargeId = ledger.charges[0]?.chargeId ?? '';
  assert.match(chargeId, /^ch_simulated_/);
  assert.equal(
    response.text,
    `{"statusCode":200,"body":{"message":{"message":"Payment successful!","charge_id":"${chargeId}"}}}`,
  );
  assert.equal(response.headers.get('idempotent-replayed'), null);
  assert.equal(ledger.charges.length, 1);
});

test('returns the location of a payment, and the payment at that location', async (t) => {
  const { service, ledger } = await start(t);
  const response = await service.post(path, { ...request, currency: 'eur' });
  const id = response.headers.get('payment-id');
  assert.match(id ?? '', /^pay_[0-9a-f]{32}$/);
  assert.equal(response.headers.get('location'), `${path}/${id}`);
  const read = await service.get(`${path}/${id}`);
  assert.equal(read.status, 200);
  const { created_at: createdAt, ...payment } = read.json.body;
  assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000);
  assert.deepEqual(payment, {
    id,
    status: 'succeeded',
    processor: 'simulated',
    amount: 1_050,
    currency: 'EUR',
    price: null,
    charge_id: response.json.body.message.charge_id,
    decline_code: null,
    metadata: {},
    description: null,
    statement_descriptor_suffix: null,
    item: null,
    amount_refunded: 0,
    refunds: [],
    disputes: [],
  });
  assert.equal(ledger.charges[0]?.paymentId, id);
});

test('sends the payment to the processor under its own key, never the key of the caller', async (t) => {
  const { service, ledger } = await start(t);
  await service.post(path, request, { 'idempotency-key': 'order-7' });
  const [charge] = ledger.charges;
  assert.deepEqual([charge?.amount, charge?.currency], [1_050, 'EUR']);
  assert.match(charge?.key ?? '', /^cf_[0-9a-f]{40}$/);
});

for (const code of decliningTokens) {
  const expected = code === 'authentication_required' ? code : 'card_declined';
  test(`responds 402 ${expected} to a card declined as ${code}, charging nothing`, async (t) => {
    const { service, ledger } = await start(t);
    const response = await service.post(path, { ...request, token: `tok_${code}` });
    assertError(response, 402, { type: 'card', code: expected, decline_code: code, retryable: false });
    const read = await service.get(response.headers.get('location') ?? '');
    assert.equal(read.json.body.status, 'declined');
    assert.equal(read.json.body.charge_id, null);
    assert.equal(read.json.body.decline_code, code);
    assert.deepEqual(ledger.charges, []);
  });
}

test('rejects a token that the processor does not know, naming it', async (t) => {
  const { service, ledger } = await start(t);
  const response = await service.post(path, { ...request, token: 'tok_unknown' });
  assertError(response, 400, {
    type: 'invalid_request',
    code: 'invalid_request',
    param: 'token',
    retryable: false,
  });
  assert.ok(!response.text.includes('tok_unknown'));
  assert.deepEqual(ledger.charges, []);
});

test('responds 502 when the processor is out of order, and says that nothing was charged', async (t) => {
  const { service, ledger } = await start(t);
  const response = await service.post(path, { ...request, token: 'tok_processor_error' });
  assertError(response, 502, { type: 'service', code: 'processor_error', retryable: true });
  assert.match(response.json.body.error.message, /nothing was charged/);
  assert.deepEqual(ledger.charges, []);
});

test('responds 504 when a reply is lost, then resolves the outcome, and has charged once', async (t) => {
  const { service, ledger } = await start(t);
  const lost = { ...request, token: 'tok_lost_reply' };
  const response = await service.post(path, lost, { 'idempotency-key': 'lost-1' });
  assertError(response, 504, { type: 'service', code: 'payment_outcome_unknown', retryable: true });
  assert.match(response.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  const location = response.headers.get('location') ?? '';
  const before = await service.get(location);
  assert.deepEqual([before.json.body.status, before.json.body.charge_id], ['in_doubt', null]);

  const settled = await settledPayment(service, location);
  assert.equal(settled.status, 'succeeded');
  assert.equal(ledger.charges.length, 1);
  assert.equal(settled.charge_id, ledger.charges[0]?.chargeId);
  const again = await service.post(path, lost, { 'idempotency-key': 'lost-1' });
  assert.equal(again.status, 200);
  assert.equal(again.json.body.message.charge_id, settled.charge_id);
  assert.equal(again.headers.get('payment-id'), response.headers.get('payment-id'));
  assert.equal(ledger.charges.length, 1);
});

test('never reports a charge as failed that Stripe made before its server failed', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const response = await service.post('/stage/payment/stripe/charge', {
    ...request,
    token: 'tok_error_after_charging',
  });
  assertError(response, 504, { type: 'service', code: 'payment_outcome_unknown', retryable: false });
  const settled = await settledPayment(service, response.headers.get('location') ?? '');
  assert.deepEqual([settled.status, settled.charge_id], ['succeeded', stripe.charges[0]?.chargeId]);
  assert.equal(stripe.charges.length, 1, 'a retry gets the 500 again; the look-up finds the charge');
});

test('takes a payment through Stripe’s official library', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const response = await service.post('/stage/payment/stripe/charge', request);
  assert.deepEqual(response.json, {
    statusCode: 200,
    body: { message: { message: 'Payment successful!', charge_id: stripe.charges[0]?.chargeId } },
  });
  assert.equal(stripe.charges[0]?.paymentId, response.headers.get('payment-id'));
});

test('reports the error code of a Stripe decline that has no decline code', async (t) => {
  const { service } = await startWithStripe(t);
  const response = await service.post('/stage/payment/stripe/charge', {
    ...request,
    token: 'tok_expired_card',
  });
  assertError(response, 402, { code: 'card_declined', decline_code: 'expired_card' });
});

test('writes no token to the log', async (t) => {
  const { service } = await startWithStripe(t);
  const words = ['paid', 'insufficient_funds', 'of_nobody', 'dropped_after_charging', 'method_error'];
  for (const word of words) {
    await service.post('/stage/payment/stripe/charge', { ...request, token: `tok_${word}` });
    await service.post(path, { ...request, token: `tok_${word}` });
  }
  assert.match(service.logged(), /"event":"charge"/);
  assert.ok(!service.logged().includes('tok_'));
});

/** Asserts an error and the documented field next to it. `expected` has the fields of the error that are compared. */
function assertError(
  response: TestResponse,
  status: number,
  expected: Readonly<Record<string, unknown>>,
): void {
  assert.equal(response.status, status, response.text);
  assert.equal(response.json.statusCode, status);
  const { error, ...beside } = response.json.body;
  assert.deepEqual({ ...error, ...expected }, error);
  assert.match(error.request_id, /^req_/);
  assert.deepEqual(beside, { message: { message: error.message } });
  assert.match(response.headers.get('payment-id') ?? '', /^pay_/);
  assert.match(response.headers.get('location') ?? '', /\/pay_[0-9a-f]{32}$/);
}

async function settledPayment(service: TestService, location: string) {
  const giveUpAt = Date.now() + givenUpMs;
  for (;;) {
    const { status, json } = await service.get(location);
    assert.equal(status, 200);
    assert.notEqual(json.body.status, 'declined');
    if (json.body.status !== 'in_doubt') return json.body;
    assert.ok(Date.now() < giveUpAt, 'still in doubt');
    await sleep(50);
  }
}
