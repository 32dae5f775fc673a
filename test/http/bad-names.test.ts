import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, integration, update } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { startTestService } from '../support/service.ts';

const json = { 'Content-Type': 'application/json' };

/** Names outside both alphabets, as they stand in a path. */
const neverNames = [
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

test('refuses a table name outside its alphabet, on every operation, and makes no table', async (t) => {
  const service = await startTestService(t);
  const operations = [
    { line: (name: string) => `GET /v3/table/${name}/read`, body: '' },
    { line: (name: string) => `POST /v3/table/${name}/create`, body: JSON.stringify(create.body) },
    { line: (name: string) => `PUT /v3/table/${name}/update`, body: JSON.stringify(update.body) },
  ];
  for (const name of neverNames) {
    await t.test(name.slice(0, 40) || 'nothing', async () => {
      for (const { line, body } of operations) {
        const answer = await exchange(service.origin, requestText(service.origin, line(name), json, body));
        assertError(answer, { status: 400, code: 'invalid_request', param: 'TABLE_NAME' });
      }
    });
  }
  for (const name of ['a', 'b', 'books', 'payments']) {
    assertError(await service.get(`/v3/table/${name}/read`), { status: 404, code: 'table_not_found' });
  }
});

test('takes a table name of every allowed character and of up to 255 of them', async (t) => {
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

test('keeps tables apart whose names differ in case alone', async (t) => {
  const service = await startTestService(t);
  await service.post('/v3/table/Books/create', create.body);
  assertError(await service.get('/v3/table/books/read'), { status: 404, code: 'table_not_found' });
});

test('refuses an integration name outside its alphabet, and registers nothing', async (t) => {
  const service = await startTestService(t);
  const names = [...neverNames, 'Shop', 'SHOP', 'sh_op', 'sh.op', '%53hop', 'a'.repeat(64)];
  for (const name of names) {
    await t.test(name.slice(0, 40) || 'nothing', async () => {
      const line = `POST /v3/create/service/auth/google/${name}`;
      const request = requestText(service.origin, line, json, JSON.stringify(integration.body));
      const answer = await exchange(service.origin, request);
      assertError(answer, { status: 400, code: 'invalid_request', param: 'INTEGRATION_NAME' });
    });
  }
  // Other credentials: under a name that had been registered they would be refused.
  const other = await service.post(integration.path, { ...integration.body, IDP_CLIENT_SECRET: 'secret-2' });
  assert.equal(other.status, 200, other.text);
});

test('takes an integration name of lower-case letters, digits and hyphens, up to 63', async (t) => {
  const service = await startTestService(t);
  for (const name of ['a', '0', '-', 'shop-1', '%73hop', 'z'.repeat(63)]) {
    const answer = await service.post(`/v3/create/service/auth/google/${name}`, integration.body);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.body.name, decodeURIComponent(name));
  }
});

test('refuses a provider or a processor that is no more than a property of every object', async (t) => {
  const service = await startTestService(t);
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const registered = await service.post(`/v3/create/service/auth/${name}/shop`, integration.body);
    assertError(registered, { status: 404, code: 'provider_not_found' });
    const order = { amount: 1, currency: 'EUR', token: 'tok_paid' };
    const paid = await service.post(`/stage/payment/${name}/charge`, order);
    assertError(paid, { status: 404, code: 'processor_not_found' });
    const routed = await service.post(`/stage/payment/simulated/${name}`, order);
    assertError(routed, { status: 404, code: 'route_not_found' });
  }
});
