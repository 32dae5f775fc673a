import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LedgerReply, LedgerRequest } from '../../src/processors/simulated/ledger.ts';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { startTestService, type TestResponse } from '../support/service.ts';

const path = '/stage/payment/simulated/charge';
const request = { amount: 1_050, currency: 'EUR', token: 'tok_paid' };
const key = { 'idempotency-key': 'order-1042' };

/** A ledger in memory that rejects the first few requests, or is slow. */
class SpoiltLedger extends MemoryLedger {
  failures = 0;
  delayMs = 0;

  override async charge(request: LedgerRequest): Promise<LedgerReply> {
    if (this.failures-- > 0) return { kind: 'error' };
    const reply = await super.charge(request);
    await sleep(this.delayMs);
    return reply;
  }
}

async function start(t: TestContext, options: { readonly file?: string } = {}) {
  const ledger = new SpoiltLedger();
  const { origin } = await startLedger(t, ledger);
  const service = await startTestService(t, { ...options, env: { COUNTERFOIL_SIMULATED_LEDGER: origin } });
  return { service, ledger };
}

/** Asserts the stored response, byte for byte, and the header that marks a replay. */
function assertReplay(again: TestResponse, first: TestResponse): void {
  assert.equal(again.text, first.text);
  assert.equal(again.status, first.status);
  assert.equal(again.headers.get('payment-id'), first.headers.get('payment-id'));
  assert.equal(again.headers.get('location'), first.headers.get('location'));
  assert.equal(first.headers.get('idempotent-replayed'), null);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
}

test('replays a success byte for byte and charges once', async (t) => {
  const { service, ledger } = await start(t);
  const first = await service.post(path, request, key);
  assert.equal(first.status, 200);
  assertReplay(await service.post(path, request, key), first);
  assertReplay(await service.post(path, { token: 'tok_paid', currency: 'eur', amount: 1_050.0 }, key), first);
  assert.equal(ledger.charges.length, 1);
});

test('recognizes a repetition by its bytes, and compares the meaning of other bytes', async (t) => {
  const { service, ledger } = await start(t);
  const first = await service.post(path, request, key);
  // From the second one on, the bytes alone are compared.
  for (let n = 0; n < 3; n++) assertReplay(await service.post(path, request, key), first);
  const reordered = { token: 'tok_paid', currency: 'eur', amount: 1_050 };
  for (let n = 0; n < 2; n++) assertReplay(await service.post(path, reordered, key), first);
  for (const [field, value] of Object.entries({ amount: 1_051, currency: 'USD', token: 'tok_paid_2' })) {
    const differing = await service.post(path, { ...request, [field]: value }, key);
    assert.equal(differing.json.body.error.code, 'idempotency_key_reused');
    assert.equal(differing.json.body.error.param, field);
  }
  assertReplay(await service.post(path, request, key), first);
  const other = await service.post(path, request, { 'idempotency-key': 'order-1043' });
  assert.equal(other.headers.get('idempotent-replayed'), null);
  assert.notEqual(other.headers.get('payment-id'), first.headers.get('payment-id'));
  assert.equal(ledger.charges.length, 2);
});

test('replays a decline byte for byte, with the request id of the first response', async (t) => {
  const { service } = await start(t);
  const declined = { ...request, token: 'tok_insufficient_funds' };
  const first = await service.post(path, declined, key);
  assert.equal(first.json.body.error.code, 'card_declined');
  const again = await service.post(path, declined, key);
  assertReplay(again, first);
  assert.equal(again.json.body.error.request_id, first.headers.get('request-id'));
  assert.notEqual(again.headers.get('request-id'), first.headers.get('request-id'));
});

test('replays after a restart', async (t) => {
  const { service, ledger } = await start(t);
  const first = await service.post(path, request, key);
  await service.stop();
  const next = await startTestService(t, { data: service.data });
  assertReplay(await next.post(path, request, key), first);
  assert.equal(ledger.charges.length, 1);
});

test('a bare key and the same key in quotes are one key', async (t) => {
  const { service, ledger } = await start(t);
  const first = await service.post(path, request, { 'idempotency-key': 'order-7' });
  assertReplay(await service.post(path, request, { 'idempotency-key': '"order-7"' }), first);
  assert.equal(ledger.charges.length, 1);
});

test('two keys are two payments', async (t) => {
  const { service, ledger } = await start(t);
  const first = await service.post(path, request, { 'idempotency-key': 'order-7' });
  const second = await service.post(path, request, { 'idempotency-key': 'Order-7' });
  assert.notEqual(second.text, first.text);
  assert.equal(ledger.charges.length, 2);
});

test('charges each request without a key', async (t) => {
  const { service, ledger } = await start(t);
  const responses = await Promise.all([1, 2, 3].map(() => service.post(path, request)));
  assert.equal(new Set(responses.map(({ text }) => text)).size, 3);
  assert.ok(responses.every(({ headers }) => headers.get('idempotent-replayed') === null));
  assert.equal(ledger.charges.length, 3);
});

for (const [field, value] of [
  ['amount', 1_051],
  ['currency', 'USD'],
  ['token', 'tok_visa'],
] as const) {
  test(`rejects a reused key with another ${field}, naming it, and charges nothing`, async (t) => {
    const { service, ledger } = await start(t);
    const first = await service.post(path, request, key);
    const other = await service.post(path, { ...request, [field]: value }, key);
    assert.equal(other.status, 422);
    const { error, message } = other.json.body;
    assert.deepEqual([error.code, error.param, error.retryable], ['idempotency_key_reused', field, false]);
    assert.match(message.message, new RegExp(`another ${field}`));
    assert.equal(ledger.charges.length, 1);
    assertReplay(await service.post(path, request, key), first);
  });
}

test('charges once when ten callers share a key, and sends all of them the same response', async (t) => {
  const { service, ledger } = await start(t);
  ledger.delayMs = 300;
  const responses = await Promise.all(Array.from({ length: 10 }, () => service.post(path, request, key)));
  assert.equal(ledger.charges.length, 1);
  assert.deepEqual([...new Set(responses.map(({ status }) => status))], [200]);
  assert.equal(new Set(responses.map(({ text }) => text)).size, 1);
  assert.equal(responses.filter(({ headers }) => headers.get('idempotent-replayed') === 'true').length, 9);
  assert.equal(new Set(responses.map(({ headers }) => headers.get('payment-id'))).size, 1);
});

test('rejects another amount under a key whose first request is still running', async (t) => {
  const { service, ledger } = await start(t);
  ledger.delayMs = 300;
  const statuses = await Promise.all(
    [1_050, 1_051].map(async (amount) => (await service.post(path, { ...request, amount }, key)).status),
  );
  assert.deepEqual(statuses.sort(), [200, 422]);
  assert.equal(ledger.charges.length, 1);
});

test('the same key on another route is another payment', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'counterfoil.json');
  writeFileSync(file, JSON.stringify({ payments: { routes: { charge: {}, gifts: { unit: 'major' } } } }));
  const { service, ledger } = await start(t, { file });
  const charge = await service.post(path, request, key);
  const gift = await service.post('/stage/payment/simulated/gifts', { ...request, amount: 10.5 }, key);
  assert.deepEqual([charge.status, gift.status, gift.headers.get('idempotent-replayed')], [200, 200, null]);
  assert.notEqual(gift.headers.get('payment-id'), charge.headers.get('payment-id'));
  assert.deepEqual(
    ledger.charges.map(({ amount }) => amount),
    [1_050, 1_050],
  );
});

test('releases a key after 502, so that the same request can succeed', async (t) => {
  const { service, ledger } = await start(t);
  ledger.failures = 1;
  const rejected = await service.post(path, request, key);
  assert.deepEqual([rejected.status, rejected.json.body.error.retryable], [502, true]);
  const accepted = await service.post(path, request, key);
  assert.equal(accepted.status, 200);
  assert.equal(accepted.headers.get('idempotent-replayed'), null);
  assert.notEqual(accepted.headers.get('payment-id'), rejected.headers.get('payment-id'));
  assertReplay(await service.post(path, request, key), accepted);
  assert.equal(ledger.charges.length, 1);
});

test('with a key, says that the request may be retried while the outcome is unknown', async (t) => {
  const { service, ledger } = await start(t);
  const lost = { ...request, token: 'tok_lost_reply' };
  const keyed = await service.post(path, lost, key);
  assert.deepEqual([keyed.status, keyed.json.body.error.retryable], [504, true]);
  const again = await service.post(path, lost, key);
  assert.equal(again.headers.get('payment-id'), keyed.headers.get('payment-id'));
  assert.equal(ledger.charges.length, 1);
});

test('without a key, warns that a retry may charge again', async (t) => {
  const { service } = await start(t);
  const keyless = await service.post(path, { ...request, token: 'tok_lost_reply' });
  assert.deepEqual([keyless.status, keyless.json.body.error.retryable], [504, false]);
  assert.match(keyless.json.body.error.message, /no Idempotency-Key.*may charge again/);
  assert.equal(keyless.json.body.message.message, keyless.json.body.error.message);
  assert.match(keyless.headers.get('location') ?? '', /\/pay_/);
});

for (const [text, bad] of [
  ['empty', '""'],
  ['longer than 255 characters', 'k'.repeat(256)],
  ['not ASCII', 'schl\u00fcssel'],
  ['a card number as it is printed', '4242 4242 4242 4242'],
] as const) {
  test(`rejects a key that is ${text}, and charges nothing`, async (t) => {
    const { service, ledger } = await start(t);
    const response = await service.post(path, request, { 'idempotency-key': bad });
    assert.equal(response.status, 400);
    assert.deepEqual(
      [response.json.body.error.code, response.json.body.error.param],
      ['invalid_request', 'Idempotency-Key'],
    );
    assert.deepEqual(ledger.charges, []);
  });
}
