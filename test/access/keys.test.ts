import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { payment, readPath } from '../http/documented-operations.ts';
import { assertError } from '../http/error-answer.ts';
import { runCommand } from '../support/command.ts';
import { bearing, idWithin, newKey, startServiceWithKeys, withKeys } from '../support/keys.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

const create = '/v3/table/books/create';
const dayMs = 24 * 60 * 60 * 1_000;

async function status(origin: string, key: string | undefined): Promise<number> {
  const headers = key === undefined ? {} : bearing(key);
  const response = await fetch(origin + readPath, { headers });
  await response.text();
  return response.status;
}

test('two processes follow a key made, rotated and revoked beside them, without a restart', async (t) => {
  const data = newData(t);
  const env = { COUNTERFOIL_DATA: data };
  const first = await ServeProcess.start(t, { data, simulate: true });
  const second = await ServeProcess.start(t, { data, simulate: true });
  const origins = [await first.ready(), await second.ready()];
  const all = (key: string | undefined) => Promise.all(origins.map((origin) => status(origin, key)));
  const until = async (key: string | undefined, expected: number) => {
    const giveUpAt = Date.now() + 10_000;
    while ((await all(key)).some((each) => each !== expected)) {
      assert.ok(Date.now() < giveUpAt, `${await all(key)} instead of ${expected}`);
    }
  };
  assert.deepEqual(await all(undefined), [404, 404], 'open');

  const made = await runCommand(['keys', 'create', '--name', 'a', '--scope', 'tables:read'], env);
  const key = made.output.trim();
  assert.deepEqual(await all(key), [404, 404], 'a new key works at once');
  await until(undefined, 401);

  const id = idWithin(key);
  const rotated = (await runCommand(['keys', 'rotate', id], env)).output.trim();
  assert.deepEqual(await all(rotated), [404, 404], 'so does a new secret');
  assert.deepEqual(await all(key), [404, 404], 'and the one before');
  const again = (await runCommand(['keys', 'rotate', id, '--overlap', '0m'], env)).output.trim();
  assert.deepEqual(await all(again), [404, 404]);
  await until(rotated, 401);
  await until(key, 401);

  assert.equal((await runCommand(['keys', 'revoke', id], env)).status, 0);
  await until(again, 401);
  assert.deepEqual(await all(undefined), [401, 401], 'the last key revoked opens nothing');
});

test('a service that other machines can reach does not start without a key, and says which command makes one', async (t) => {
  const data = newData(t);
  for (const env of [
    { HOST: '0.0.0.0' },
    { HOST: '::' },
    { COUNTERFOIL_PAYMENT_HOST: '0.0.0.0', COUNTERFOIL_PAYMENT_PORT: '0' },
  ]) {
    const refused = ServeProcess.spawn(t, { data, env: env as Record<string, string>, simulate: true });
    await assert.rejects(refused.ready(), /before it was ready/);
    assert.equal(await refused.ended(), 2);
    assert.match(refused.errors, /can be reached from other machines/);
    assert.match(refused.errors, /npm run counterfoil -- keys create --name admin --scope admin\n/);
  }
  const key = await newKey(data);
  const service = await ServeProcess.start(t, { data, env: { HOST: '0.0.0.0' }, simulate: true });
  const origin = (await service.ready()).replace('0.0.0.0', '127.0.0.1');
  assert.equal(await status(origin, undefined), 401);
  assert.equal(await status(origin, key), 404);
});

test('a key with a valid caller passes through a proxy and for any host', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const headers = { 'x-forwarded-for': '192.0.2.1', host: 'api.shop.example', via: '1.1 proxy.example' };
  assertError(await service.get(readPath, { ...headers, ...bearing(keys.admin) }), {
    status: 404,
    code: 'table_not_found',
  });
  assertError(await service.get(readPath, headers), { status: 401, code: 'unauthenticated' });
  assert.equal((await service.get('/readyz', headers)).status, 200);
});

test('a key ends at the moment it expires, and the secret before when its overlap does', async (t) => {
  let now = Date.now();
  const data = newDataFolder(t);
  const clock = () => now;
  const { expiring, before, after } = await withKeys(
    data,
    async (keys) => {
      const order = { kind: 'secret', name: 'a', scopes: ['admin'] } as const;
      const expiring = await keys.create({ ...order, expiresAt: new Date(now + dayMs).toISOString() });
      const before = await keys.create(order);
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

test('a key is a caller of its own: the same idempotency key of another one is another charge', async (t) => {
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

test('the check comes before the body: an endless or malformed one is not waited for', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { reader: { scopes: ['tables:read'] } });
  for (const headers of [{}, bearing(keys.reader)]) {
    const answer = await service.post(create, '{"id": broken', headers);
    assert.ok([401, 403].includes(answer.status), answer.text);
  }
});

test('a key sent to an open service is checked as ever: nobody is taken for somebody else', async (t) => {
  const { get } = await startTestService(t);
  const answer = await get(readPath, bearing(`cfk_0123456789abcdef.${'A'.repeat(43)}`));
  assertError(answer, { status: 401, code: 'unauthenticated', param: 'Authorization' });
});

test('an open service answers its own pages, and no page from elsewhere', async (t) => {
  const trusted = 'http://localhost:3000';
  const { get, origin } = await startTestService(t, { env: { COUNTERFOIL_CORS_ORIGINS: trusted } });
  for (const from of ['https://evil.example', 'null', 'http://localhost:3001', `${trusted}0`]) {
    assertError(await get(readPath, { origin: from }), { status: 403, code: 'forbidden', param: 'Origin' });
  }
  for (const from of [origin, trusted]) {
    assertError(await get(readPath, { origin: from }), { status: 404, code: 'table_not_found' });
  }
});

test('keys list and audit list make no new store', async (t) => {
  const data = newDataFolder(t);
  for (const args of [
    ['keys', 'list'],
    ['keys', 'revoke', 'a'],
    ['keys', 'rotate', 'a'],
    ['audit', 'list'],
  ]) {
    const ended = await runCommand(args, { COUNTERFOIL_DATA: data });
    assert.deepEqual([ended.status, ended.output], [2, '']);
    assert.match(ended.errors, /there is no store at/);
  }
  assert.ok(!existsSync(data));
});
