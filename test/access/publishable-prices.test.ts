import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { type TestContext, test } from 'node:test';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { bearing, idWithin, newKey } from '../support/access/keys.ts';
import { assertError } from '../support/http/error-response.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

const origin = 'https://shop.example';
const browser = { kind: 'publishable', scopes: ['payments:create'], origins: [origin] } as const;
const seat = { sku: 'seat-12A' };
const routes = {
  charge: {},
  limited: { minimum: 4_000, maximum: 4_000, currencies: ['EUR'] },
  fixed: { price: { fixed: 4_000, currency: 'EUR' } },
  ticket: {
    price: { table: 'prices', id: 'metadata.sku', currency: 'EUR' },
    on_success: { table: 'tickets', id: 'metadata.sku', name: 'payment_id' },
  },
  donation: { price: 'payer', minimum: 100, maximum: 9_000 },
};

async function start(t: TestContext, given: object = routes, data = newDataFolder(t)) {
  const ledger = new MemoryLedger();
  const ledgerProcess = await startLedger(t, ledger);
  const key = await newKey(data, { ...browser, name: 'page' });
  const secret = await newKey(data, { name: 'server' });
  const service = await startTestService(t, {
    data,
    file: writeSettings(t, { payments: { routes: given } }),
    env: { COUNTERFOIL_SIMULATED_LEDGER: ledgerProcess.origin, COUNTERFOIL_LIMIT_CHARGES: '10000' },
  });
  const pay = (route: string, amount: number, headers: Record<string, string> = {}, by = key) =>
    service.post(
      `/stage/payment/simulated/${route}`,
      { amount, currency: 'EUR', token: 'tok_paid', metadata: seat },
      { ...bearing(by), origin, ...headers },
    );
  await service.post('/v3/table/prices/create', { id: 'seat-12A', name: '4000' }, bearing(secret));
  return { service, ledger, key, secret, pay, data };
}

test('a page cannot set the price: it charges the price of the shop, or nothing', async (t) => {
  const { service, ledger, secret, pay } = await start(t);
  for (const route of ['charge', 'limited']) {
    const rejected = await pay(route, 4_000);
    assertError(rejected, { status: 403, code: 'forbidden', param: 'route_id' });
    assert.match(rejected.json.body.error.message, /only on a payment route with a price/);
  }
  for (const route of ['fixed', 'ticket']) {
    for (const amount of [1, 100, 3_999, 4_001, 40_000])
      assertError(await pay(route, amount), { status: 400, code: 'amount_mismatch', param: 'amount' });
  }
  assertError(await pay('donation', 99), { status: 400, code: 'invalid_request', param: 'amount' });
  assert.deepEqual(ledger.charges, []);
  for (const route of Object.keys(routes)) {
    const { json } = await service.get(`/stage/payment/simulated/${route}`, bearing(secret));
    assert.deepEqual(json.body, [], `nothing was reserved on ${route}`);
  }
  for (const [route, amount] of [
    ['fixed', 4_000],
    ['ticket', 4_000],
    ['donation', 150],
  ] as const)
    assert.equal((await pay(route, amount)).status, 200, route);
});

test('a secret key takes payments on routes without a price, as documented', async (t) => {
  const { pay, secret } = await start(t);
  for (const [route, amount] of [
    ['charge', 1],
    ['limited', 4_000],
  ] as const) {
    const paid = await pay(route, amount, {}, secret);
    assert.deepEqual(Object.keys(paid.json.body.message), ['message', 'charge_id']);
  }
});

test('a page cannot change a price', async (t) => {
  const { service, key, pay } = await start(t);
  const headers = { ...bearing(key), origin };
  for (const [method, path, body] of [
    ['PUT', 'prices/update', { id: 'seat-12A', name: '1' }],
    ['POST', 'prices/create', { id: 'seat-1', name: '1' }],
    ['DELETE', 'prices/delete', { id: 'seat-12A' }],
    ['POST', 'prices/batch', { writes: [{ update: { id: 'seat-12A', name: '1' } }] }],
  ] as const)
    assertError(await service.send(method, `/v3/table/${path}`, body, headers), {
      status: 403,
      code: 'forbidden',
    });
  assertError(await pay('ticket', 1), { status: 400, code: 'amount_mismatch' });
});

test('a page gets the response to its first request after its route has lost the price', async (t) => {
  const key = { 'idempotency-key': 'cart-1' };
  const { service, pay, data, ledger } = await start(t);
  const first = await pay('fixed', 4_000, key);
  assert.equal(first.status, 200);
  await service.stop();
  const next = await start(t, { fixed: {} }, data);
  const again = await next.pay('fixed', 4_000, key);
  assert.deepEqual([again.status, again.text], [200, first.text]);
  assertError(await next.pay('fixed', 4_000), { status: 403, code: 'forbidden' });
  assert.deepEqual([ledger.charges.length, next.ledger.charges.length], [1, 0]);
});

test('a page reads the price across origins, and counts no charge for that', async (t) => {
  const { service, key, pay } = await start(t);
  const path = '/stage/payment/simulated/ticket/price';
  const preflight = await service.send('OPTIONS', path, undefined, {
    origin,
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'authorization',
  });
  assert.deepEqual([preflight.status, preflight.headers.get('access-control-allow-origin')], [204, origin]);
  const read = await service.get(`${path}?sku=seat-12A`, { ...bearing(key), origin });
  assert.deepEqual([read.status, read.json.body], [200, { amount: 4_000, currency: 'EUR' }]);
  assert.equal(read.headers.get('access-control-allow-origin'), origin);
  assert.equal(read.headers.get('ratelimit'), null);
  for (const other of ['https://evil.example', 'null']) {
    const rejected = await service.get(`${path}?sku=seat-12A`, { ...bearing(key), origin: other });
    assertError(rejected, { status: 403, code: 'forbidden', param: 'Origin' });
    assert.equal(rejected.headers.get('access-control-allow-origin'), null);
  }
  assert.equal((await pay('ticket', read.json.body.amount)).status, 200);
});

test('the start reports each publishable key that is limited to routes without a price', async (t) => {
  const data = newDataFolder(t);
  const limited = await newKey(data, {
    ...browser,
    name: 'limited',
    routes: ['simulated/limited', 'simulated/fixed'],
  });
  const priced = await newKey(data, { ...browser, name: 'priced', routes: ['simulated/fixed'] });
  const { service, key } = await start(t, routes, data);
  const warnings = (service.logged().match(/.*publishable_key_without_price.*/g) ?? []).map((line) =>
    JSON.parse(line),
  );
  assert.deepEqual(
    warnings.map(({ key_id }) => key_id),
    [idWithin(limited)],
  );
  assert.match(warnings[0].detail, /on limited, .* set payments\.routes\.limited\.price$/);
  assert.ok(!service.logged().includes(idWithin(priced)));
  assert.ok(!service.logged().includes(idWithin(key)), 'a key for all routes can use those with a price');
  await service.stop();
  const { service: unpriced } = await start(t, { charge: {} }, data);
  assert.ok(unpriced.logged().includes(idWithin(key)), 'no route has a price');
});

test('a page on the origin of the payments reads a price, although its browser sends no Origin', async (t) => {
  const { service, key } = await start(t);
  const priceFor = async (headers: Record<string, string>) => {
    const url = `${service.origin}/stage/payment/simulated/ticket/price?sku=seat-12A`;
    const sent = get(url, { headers: { ...bearing(key), ...headers } });
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  assert.equal(await priceFor({ host: 'shop.example', 'sec-fetch-site': 'same-origin' }), 200);
  assert.equal(await priceFor({ host: 'other.example', 'sec-fetch-site': 'same-origin' }), 403);
  assert.equal(await priceFor({ host: 'shop.example', 'sec-fetch-site': 'cross-site' }), 403);
  assert.equal(await priceFor({ host: 'shop.example' }), 403);
});
