import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, integration, update } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { startTestService } from '../support/service.ts';

const json = { 'Content-Type': 'application/json' };

/** Names that are invalid for tables and for integrations, as they are written in a path. */
const invalidNames = [
  ...[
    'a%2Fb',
    'a%2fb',
    '%2e%2e%2fbooks',
    'a%5Cb',
    'a%00',
    '%00',
    'a%0Ab',
    'a%20b',
    'a+b',
    'a:b',
    'a%3Ab',
    'a;b',
  ],
  ...['%E4%BD%A0', '%C3%A9', '%F0%9F%94%91', 'a%25b', 'a*', "a'b", 'a%22b', '%7B%7D', 'service:payments', ''],
  ...['.', '..', '%2e', '%2e%2e', '%2E.', 'a'.repeat(256)],
];

test('rejects an invalid table name on every operation, and creates no table', async (t) => {
  const service = await startTestService(t);
  const operations = [
    { line: (name: string) => `GET /v3/table/${name}/read`, body: '' },
    { line: (name: string) => `POST /v3/table/${name}/create`, body: JSON.stringify(create.body) },
    { line: (name: string) => `PUT /v3/table/${name}/update`, body: JSON.stringify(update.body) },
  ];
  for (const name of invalidNames) {
    await t.test(name.slice(0, 40) || 'nothing', async () => {
      for (const { line, body } of operations) {
        const response = await exchange(service.origin, requestText(service.origin, line(name), json, body));
        assertError(response, { status: 400, code: 'invalid_request', param: 'TABLE_NAME' });
      }
    });
  }
  for (const name of ['a', 'b', 'books', 'payments']) {
    assertError(await service.get(`/v3/table/${name}/read`), { status: 404, code: 'table_not_found' });
  }
});

test('accepts a table name of every allowed character, up to 255 characters', async (t) => {
  const service = await startTestService(t);
  for (const name of [
    'A-Z_a.z0-9',
    '...',
    '-',
    '_',
    'a'.repeat(255),
    '%41'.repeat(255),
    '__proto__',
    'constructor',
  ]) {
    const created = await service.post(`/v3/table/${name}/create`, create.body);
    assert.equal(created.status, 200, created.text);
    const read = await service.get(`/v3/table/${decodeURIComponent(name)}/read`);
    assert.deepEqual(read.json.body, [create.body]);
  }
});

test('table names are case-sensitive', async (t) => {
  const service = await startTestService(t);
  await service.post('/v3/table/Books/create', create.body);
  assertError(await service.get('/v3/table/books/read'), { status: 404, code: 'table_not_found' });
});

test('rejects an invalid integration name, and registers nothing', async (t) => {
  const service = await startTestService(t);
  const names = [...invalidNames, 'Shop', 'SHOP', 'sh_op', 'sh.op', '%53hop', 'a'.repeat(64)];
  for (const name of names) {
    await t.test(name.slice(0, 40) || 'nothing', async () => {
      const line = `POST /v3/create/service/auth/google/${name}`;
      const request = requestText(service.origin, line, json, JSON.stringify(integration.body));
      const response = await exchange(service.origin, request);
      assertError(response, { status: 400, code: 'invalid_request', param: 'INTEGRATION_NAME' });
    });
  }
  // Other credentials would be rejected if the name had been registered.
  const other = await service.post(integration.path, { ...integration.body, IDP_CLIENT_SECRET: 'secret-2' });
  assert.equal(other.status, 200, other.text);
});

test('accepts an integration name of up to 63 lower-case letters, digits and hyphens', async (t) => {
  const service = await startTestService(t);
  for (const name of ['a', '0', '-', 'shop-1', '%73hop', 'z'.repeat(63)]) {
    const response = await service.post(`/v3/create/service/auth/google/${name}`, integration.body);
    assert.equal(response.status, 200, response.text);
    assert.equal(response.json.body.name, decodeURIComponent(name));
  }
});

test('rejects a provider or a processor whose name is a property of every object', async (t) => {
  const service = await startTestService(t);
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const registered = await service.post(`/v3/create/service/auth/${name}/shop`, integration.body);
    assertError(registered, { status: 404, code: 'provider_not_found' });
    const charge = { amount: 1, currency: 'EUR', token: 'tok_paid' };
    const paid = await service.post(`/stage/payment/${name}/charge`, charge);
    assertError(paid, { status: 404, code: 'processor_not_found' });
    const routed = await service.post(`/stage/payment/simulated/${name}`, charge);
    assertError(routed, { status: 404, code: 'route_not_found' });
  }
});
