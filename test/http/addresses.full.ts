import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { create, integration, payment, readPath, update } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

const routeNotFound = { status: 404, code: 'route_not_found' };
const charge = payment.path;

test('serves tables and integrations only under the base path, and payments only under theirs', async (t) => {
  const service = await startTestService(t, {
    env: { COUNTERFOIL_BASE_PATH: '/api/v.1', COUNTERFOIL_PAYMENT_BASE_PATH: '/pay' },
  });
  assert.equal((await service.post(`/api/v.1${create.path}`, create.body)).status, 200);
  assert.equal((await service.send('PUT', `/api/v.1${update.path}`, update.body)).status, 200);
  assert.deepEqual((await service.get(`/api/v.1${readPath}`)).json.body, [{ id: 'a', name: 'Beta' }]);
  const registered = await service.post(`/api/v.1${integration.path}`, integration.body);
  assert.equal(registered.json.body.redirect_uri, `${service.origin}/api/v.1/v3/auth/google/shop/callback`);
  assert.equal(registered.json.body.sign_in_url, `${service.origin}/api/v.1/v3/auth/google/shop/sign-in`);
  assert.equal((await service.post(`/pay${charge}`, payment.body)).status, 200);

  for (const prefix of ['', '/pay', '/api', '/api/vX1']) {
    assertError(await service.get(prefix + readPath), routeNotFound);
    assertError(await service.post(prefix + create.path, create.body), routeNotFound);
    assertError(await service.post(prefix + integration.path, integration.body), routeNotFound);
  }
  for (const prefix of ['', '/api/v.1']) {
    assertError(await service.post(prefix + charge, payment.body), routeNotFound);
  }
  assert.equal((await service.get('/livez')).status, 200);
});

test('returns a Location at which the payment can be read, also under a prefix', async (t) => {
  for (const prefix of ['', '/pay/here']) {
    const env = { COUNTERFOIL_PAYMENT_BASE_PATH: prefix, COUNTERFOIL_PAYMENT_PORT: '0' };
    const service = await startTestService(t, { env });
    const paid = await service.post(prefix + charge, { amount: 1050, currency: 'eur', token: 'tok_paid' });
    const location = paid.headers.get('location') ?? '';
    assert.ok(location.startsWith(`${prefix}${charge}/`), location);
    const { body } = (await service.get(location)).json;
    assert.equal(body.id, paid.headers.get('payment-id'));
    assert.equal(body.charge_id, paid.json.body.message.charge_id);
    assert.deepEqual([body.status, body.amount, body.currency], ['succeeded', 1050, 'EUR']);

    const elsewhere = location.replace(body.id, `pay_${'0'.repeat(32)}`);
    assertError(await service.get(elsewhere), { status: 404, code: 'payment_not_found' });
    assertError(await service.get(location.replace('/simulated/', '/stripe/')), {
      status: 503,
      code: 'processor_not_configured',
    });
  }
});

test('serves the same tables under every alias of the segment "table"', async (t) => {
  const service = await startTestService(t, { env: { COUNTERFOIL_TABLE_ALIASES: 'dynamodb,kv' } });
  assert.equal((await service.post('/v3/dynamodb/books/create', create.body)).status, 200);
  assertError(await service.post('/v3/table/books/create', create.body), {
    status: 409,
    code: 'item_exists',
  });
  assert.equal((await service.send('PUT', '/v3/kv/books/update', update.body)).status, 200);
  for (const segment of ['table', 'dynamodb', 'kv']) {
    const read = await service.get(`/v3/${segment}/books/read`);
    assert.equal(read.text, '{"statusCode":200,"body":[{"id":"a","name":"Beta"}]}');
  }
  assertError(await service.get('/v3/dynamo/books/read'), routeNotFound);

  const plain = await startTestService(t);
  assertError(await plain.get('/v3/dynamodb/books/read'), routeNotFound);
});

test('serves payments only on their own port when they have one', async (t) => {
  const { origin, paymentOrigin } = await startTestService(t, { env: { COUNTERFOIL_PAYMENT_PORT: '0' } });
  assert.notEqual(paymentOrigin, origin);
  const post = (url: string, body: unknown) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  assert.equal((await post(paymentOrigin + charge, payment.body)).status, 200);
  assert.equal((await post(origin + charge, payment.body)).status, 404);
  assert.equal((await post(origin + create.path, create.body)).status, 200);
  assert.equal((await post(paymentOrigin + create.path, create.body)).status, 404);
  assert.equal((await fetch(origin + readPath)).status, 200);
  assert.equal((await fetch(paymentOrigin + readPath)).status, 404);
  assert.equal((await post(paymentOrigin + integration.path, integration.body)).status, 404);
  for (const at of [origin, paymentOrigin]) {
    assert.equal((await fetch(`${at}/readyz`)).status, 200);
    const { paths } = (await (await fetch(`${at}/openapi.json`)).json()) as { paths: object };
    const [payments, others] = [/^\/stage\//, /^\/v3\//].map((pattern) =>
      Object.keys(paths).some((path) => pattern.test(path)),
    );
    assert.deepEqual([payments, others], at === origin ? [false, true] : [true, false]);
  }
});

test('applies to every payment route the policy of the settings file', async (t) => {
  const file = settingsFile(t, {
    payments: {
      routes: {
        donate: { currencies: ['eur', 'USD'], minimum: 500, maximum: 10_000 },
        'charge-2': {},
      },
    },
  });
  const service = await startTestService(t, { file });
  const pay = (route: string, amount: number, currency: string) =>
    service.post(`/stage/payment/simulated/${route}`, { amount, currency, token: 'tok_paid' });

  for (const [amount, currency] of [
    [500, 'EUR'],
    [10_000, 'usd'],
  ] as const) {
    assert.equal((await pay('donate', amount, currency)).status, 200);
  }
  for (const [amount, currency, param] of [
    [499, 'EUR', 'amount'],
    [10_001, 'EUR', 'amount'],
    [500, 'GBP', 'currency'],
  ] as const) {
    assertError(await pay('donate', amount, currency), { status: 400, code: 'invalid_request', param });
  }
  assert.equal((await pay('charge-2', 1, 'GBP')).status, 200);
  assertError(await pay('charge', 500, 'EUR'), routeNotFound);
});

test('converts amounts in major units exactly, and rejects too many decimals and amounts out of bounds', async (t) => {
  const routes = { shop: { unit: 'major', minimum: 29, maximum: 5_000_000 } };
  const service = await startTestService(t, { file: settingsFile(t, { payments: { routes } }) });
  const path = '/stage/payment/simulated/shop';
  const pay = (amount: string, currency: string) =>
    service.post(path, `{"amount":${amount},"currency":"${currency}","token":"tok_paid"}`);

  for (const [amount, currency, minor] of [
    ...[
      ['19.99', 'EUR', 1999],
      ['0.29', 'EUR', 29],
      ['4.35', 'EUR', 435],
      ['1.1', 'EUR', 110],
      ['1.10', 'EUR', 110],
    ],
    ...[
      ['100', 'EUR', 10_000],
      ['1e2', 'EUR', 10_000],
      ['1000', 'JPY', 1000],
      ['100.0', 'JPY', 100],
    ],
    ...[
      ['1.005', 'BHD', 1005],
      ['50000', 'EUR', 5_000_000],
      ['49999.99', 'EUR', 4_999_999],
      ['8.2', 'KWD', 8200],
    ],
  ] as const) {
    const paid = await pay(amount, currency);
    assert.equal(paid.status, 200, `${amount} ${currency}: ${paid.text}`);
    const { body } = (await service.get(paid.headers.get('location') ?? '')).json;
    assert.deepEqual([body.amount, body.currency], [minor, currency]);
  }
  for (const [amount, currency] of [
    ...[
      ['10.5', 'JPY'],
      ['1.0005', 'EUR'],
      ['1.005', 'EUR'],
      ['1.0005', 'BHD'],
      ['0.28', 'EUR'],
      ['50000.01', 'EUR'],
    ],
    ...[
      ['0.001', 'EUR'],
      ['1e-7', 'EUR'],
      ['0', 'EUR'],
      ['-0', 'EUR'],
      ['-19.99', 'EUR'],
      ['1e21', 'EUR'],
    ],
  ] as const) {
    const response = await pay(amount, currency);
    assertError(response, { status: 400, code: 'invalid_request', param: 'amount' });
  }
});

test('has different errors for an unknown processor, a processor without a key and an unknown route', async (t) => {
  const service = await startTestService(t, { simulate: false });
  const pay = (rest: string) => service.post(`/stage/payment/${rest}`, payment.body);
  assertError(await pay('nothing/charge'), { status: 404, code: 'processor_not_found' });
  assertError(await pay('simulated/charge'), { status: 404, code: 'processor_not_found' });
  assertError(await pay('Stripe/charge'), { status: 404, code: 'processor_not_found' });
  const unconfigured = await pay('stripe/charge');
  assertError(unconfigured, { status: 503, code: 'processor_not_configured' });
  assert.equal(unconfigured.json.body.error.retryable, false);

  const simulating = await startTestService(t);
  assert.equal((await simulating.post(charge, payment.body)).status, 200);
  assertError(await simulating.post('/stage/payment/simulated/nothing', payment.body), routeNotFound);
  assertError(await simulating.post('/stage/payment/simulated', payment.body), routeNotFound);
});

function settingsFile(t: TestContext, settings: unknown): string {
  const folder = dirname(newDataFolder(t));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'counterfoil.json');
  writeFileSync(file, JSON.stringify(settings));
  return file;
}
