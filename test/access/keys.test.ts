import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bearing, startServiceWithKeys, withKeys } from '../support/access/keys.ts';
import { payment, readPath } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

const create = '/v3/table/books/create';
const dayMs = 24 * 60 * 60 * 1_000;

async function status(origin: string, key: string | undefined): Promise<number> {
  const headers = key === undefined ? {} : bearing(key);
  const response = await fetch(origin + readPath, { headers });
  await response.text();
  return response.status;
}

test('a request with a valid key is accepted through a proxy and for any Host', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const headers = { 'x-forwarded-for': '192.0.2.1', host: 'api.shop.example', via: '1.1 proxy.example' };
  assertError(await service.get(readPath, { ...headers, ...bearing(keys.admin) }), {
    status: 404,
    code: 'table_not_found',
  });
  assertError(await service.get(readPath, headers), { status: 401, code: 'unauthenticated' });
  assert.equal((await service.get('/readyz', headers)).status, 200);
});

test('a key is rejected from its expiry on, and a replaced secret from the end of its overlap on', async (t) => {
  let now = Date.now();
  const data = newDataFolder(t);
  const clock = () => now;
  const { expiring, before, after } = await withKeys(
    data,
    async (keys) => {
      const request = { kind: 'secret', name: 'a', scopes: ['admin'] } as const;
      const expiring = await keys.create({ ...request, expiresAt: new Date(now + dayMs).toISOString() });
      const before = await keys.create(request);
      return {
        expiring: expiring.text,
        before: before.text,
        after: (await keys.rotate(before.key.id, dayMs)).text,
      };
    },
    clock,
  );
  const { origin } = await startTestService(t, { data, now: clock });
  now += dayMs - 1;
  for (const key of [expiring, before, after]) assert.equal(await status(origin, key), 404);
  now += 1;
  assert.equal(await status(origin, expiring), 401);
  assert.equal(await status(origin, before), 401);
  assert.equal(await status(origin, after), 404);
});

test('each key has its own idempotency keys: the same idempotency key with another key is another charge', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { a: {}, b: {} });
  const pay = (key: string) =>
    service.post(payment.path, payment.body, { ...bearing(key), 'idempotency-key': 'order-1' });
  const [first, again, other] = [await pay(keys.a), await pay(keys.a), await pay(keys.b)];
  assert.equal(first.text, again.text);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.equal(other.headers.get('idempotent-replayed'), null);
  assert.notEqual(other.headers.get('payment-id'), first.headers.get('payment-id'));
  const find = async (key: string) =>
    (await service.get(`${payment.path}?idempotency_key=order-1`, bearing(key))).json.body.id;
  assert.equal(await find(keys.a), first.headers.get('payment-id'));
  assert.equal(await find(keys.b), other.headers.get('payment-id'));
});

test('the key is checked before the body: an endless or malformed body is not read', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { reader: { scopes: ['tables:read'] } });
  for (const headers of [{}, bearing(keys.reader)]) {
    const response = await service.post(create, '{"id": broken', headers);
    assert.ok([401, 403].includes(response.status), response.text);
  }
});

test('an open service checks a key that is sent, and rejects an unknown one', async (t) => {
  const { get } = await startTestService(t);
  const response = await get(readPath, bearing(`cfk_0123456789abcdef.${'A'.repeat(43)}`));
  assertError(response, { status: 401, code: 'unauthenticated', param: 'Authorization' });
});

test('an open service responds to its own pages, and to no other page', async (t) => {
  const trusted = 'http://localhost:3000';
  const { get, origin } = await startTestService(t, { env: { COUNTERFOIL_CORS_ORIGINS: trusted } });
  for (const from of ['https://evil.example', 'null', 'http://localhost:3001', `${trusted}0`]) {
    assertError(await get(readPath, { origin: from }), { status: 403, code: 'forbidden', param: 'Origin' });
  }
  for (const from of [origin, trusted]) {
    assertError(await get(readPath, { origin: from }), { status: 404, code: 'table_not_found' });
  }
});
