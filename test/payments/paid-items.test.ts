import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { startTestService, type TestService } from '../support/service.ts';

const path = '/stage/payment/simulated/order';
const request = { amount: 2_000, currency: 'EUR', token: 'tok_paid' };
const byOrder = { table: 'paid-orders', id: 'metadata.order', name: 'charge_id' };

async function start(
  t: TestContext,
  onSuccess: object = byOrder,
  data?: string,
): Promise<{ service: TestService; ledger: MemoryLedger }> {
  const ledger = new MemoryLedger();
  const { origin } = await startLedger(t, ledger);
  const file = writeSettings(t, { payments: { routes: { order: { on_success: onSuccess } } } });
  const env = { COUNTERFOIL_SIMULATED_LEDGER: origin };
  return {
    service: await startTestService(t, { file, env, ...(data === undefined ? {} : { data }) }),
    ledger,
  };
}

async function itemsOf(service: TestService, table = 'paid-orders'): Promise<unknown> {
  const response = await service.get(`/v3/table/${table}/read`);
  return response.status === 404 ? [] : response.json.body;
}

test('a charge that succeeds creates the item of its route', async (t) => {
  const { service } = await start(t);
  const paid = await service.post(path, { ...request, metadata: { order: 'A-7', note: 'two of them' } });
  assert.equal(paid.status, 200, paid.text);
  const chargeId = paid.json.body.message.charge_id;
  assert.deepEqual(await itemsOf(service), [{ id: 'A-7', name: chargeId }]);
  const recorded = (await service.get(paid.headers.get('location') ?? '')).json.body;
  assert.deepEqual(recorded.item, { table: 'paid-orders', id: 'A-7', status: 'made' });
  assert.deepEqual(recorded.metadata, { order: 'A-7', note: 'two of them' });
});

test('the item may have the payment id and a metadata value, or the charge id', async (t) => {
  const first = await start(t, { table: 'sold', id: 'payment_id', name: 'metadata.seat' });
  const paid = await first.service.post(path, { ...request, metadata: { seat: '' } });
  assert.deepEqual(await itemsOf(first.service, 'sold'), [{ id: paid.headers.get('payment-id'), name: '' }]);
  const second = await start(t, { table: 'sold', id: 'charge_id', name: 'payment_id' });
  const other = await second.service.post(path, request);
  assert.deepEqual(await itemsOf(second.service, 'sold'), [
    { id: other.json.body.message.charge_id, name: other.headers.get('payment-id') },
  ]);
});

test('a declined charge creates no item, and frees its id', async (t) => {
  const { service } = await start(t);
  const metadata = { order: 'A-7' };
  const declined = await service.post(path, { ...request, token: 'tok_lost_card', metadata });
  assert.equal(declined.status, 402);
  assert.deepEqual(await itemsOf(service), []);
  const recorded = (await service.get(declined.headers.get('location') ?? '')).json.body;
  assert.equal(recorded.item.status, 'not_made');
  assert.equal((await service.post(path, { ...request, metadata })).status, 200);
});

test('charges nothing when the item exists already', async (t) => {
  const { service, ledger } = await start(t);
  await service.post('/v3/table/paid-orders/create', { id: 'A-7', name: 'made by hand' });
  const rejected = await service.post(path, { ...request, metadata: { order: 'A-7' } });
  assert.deepEqual([rejected.status, rejected.json.body.error.code], [409, 'item_exists']);
  assert.deepEqual(ledger.charges, []);
});

test('of many concurrent payments for one item, one is charged', async (t) => {
  const { service, ledger } = await start(t);
  const metadata = { order: 'A-7' };
  const responses = await Promise.all(
    Array.from({ length: 16 }, () => service.post(path, { ...request, metadata })),
  );
  assert.deepEqual(responses.map(({ status }) => status).sort(), [200, ...Array(15).fill(409)]);
  assert.equal(ledger.charges.length, 1);
});

test('an item that another caller creates during the charge stays, and the payment reports the conflict', async (t) => {
  const { service, ledger } = await start(t);
  const paying = service.post(path, { ...request, token: 'tok_slow', metadata: { order: 'A-7' } });
  while (ledger.charges.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const theirs = await service.post('/v3/table/paid-orders/create', { id: 'A-7', name: 'theirs' });
  assert.equal(theirs.status, 200);
  const paid = await paying;
  assert.equal(paid.status, 200, 'the card was charged');
  assert.deepEqual(await itemsOf(service), [{ id: 'A-7', name: 'theirs' }]);
  const recorded = (await service.get(paid.headers.get('location') ?? '')).json.body;
  assert.deepEqual([recorded.status, recorded.item.status], ['succeeded', 'conflict']);
  assert.match(service.logged(), /"event":"item_not_made"/);
});

for (const [what, metadata, param] of [
  ['no metadata', undefined, 'metadata.order'],
  ['metadata without the key', { seat: '7' }, 'metadata.order'],
  ['an empty value for the id', { order: '' }, 'id'],
] as const) {
  test(`charges nothing for ${what} where an item needs it`, async (t) => {
    const { service, ledger } = await start(t);
    const rejected = await service.post(path, { ...request, ...(metadata && { metadata }) });
    assert.deepEqual([rejected.status, rejected.json.body.error.code], [400, 'invalid_request']);
    assert.equal(rejected.json.body.error.param, param);
    assert.deepEqual(ledger.charges, []);
  });
}

for (const [what, metadata] of [
  ['more than 49 keys', Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`k${n}`, 'v']))],
  ['a key of 41 characters', { ['k'.repeat(41)]: 'v' }],
  ['a value of 501 characters', { order: 'v'.repeat(501) }],
  ['a value that is not valid Unicode', { order: '\ud800' }],
  ['a value that is a number', { order: 7 }],
  ['a value that is a card number', { order: '4242 4242 4242 4242' }],
  ['a value that is a card number without spaces', { order: '4242424242424242' }],
  ['a key that is a card number', { order: '7', '4242424242424242': 'card' }],
  ['a key of the service itself', { order: '7', counterfoil_payment_id: 'pay_1' }],
  ['a list', ['order']],
] as const) {
  test(`rejects metadata with ${what}, and charges nothing`, async (t) => {
    const { service, ledger } = await start(t);
    const rejected = await service.post(path, { ...request, metadata });
    assert.deepEqual([rejected.status, rejected.json.body.error.code], [400, 'invalid_request']);
    assert.match(rejected.json.body.error.param, /^metadata/);
    assert.ok(!rejected.text.includes('4242'), 'the response does not repeat the request');
    assert.deepEqual(ledger.charges, []);
  });
}

test('the same key with other metadata is another request; the order of the fields does not matter', async (t) => {
  const { service, ledger } = await start(t);
  const key = { 'idempotency-key': 'order-7' };
  const first = await service.post(path, { ...request, metadata: { order: '7', seat: 'a' } }, key);
  const same = await service.post(path, { ...request, metadata: { seat: 'a', order: '7' } }, key);
  assert.deepEqual([same.status, same.text], [200, first.text]);
  const other = await service.post(path, { ...request, metadata: { order: '7', seat: 'b' } }, key);
  assert.deepEqual([other.status, other.json.body.error.param], [422, 'metadata']);
  assert.equal(ledger.charges.length, 1);
});
