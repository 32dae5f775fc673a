import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Operator } from '../../client/src/operator.ts';
import {
  bearing,
  everyScope,
  idWithin,
  newKey,
  startServiceWithKeys,
  withKeys,
} from '../support/access/keys.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { signInToConsole } from '../support/console/sign-in.ts';
import { readPath } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { startTestService, type TestResponse, type TestService } from '../support/service.ts';

const path = '/v3/keys';
const dayMs = 24 * 60 * 60 * 1_000;

const statusWith = async (service: TestService, key: string) =>
  (await service.get(readPath, bearing(key))).status;
const rotate = (service: TestService, key: string, by: string, body?: object) =>
  service.post(`${path}/${idWithin(key)}/rotate`, body, bearing(by));
const revoke = (service: TestService, key: string, by: string) =>
  service.send('DELETE', `${path}/${idWithin(key)}`, undefined, bearing(by));
const outcome = ({ status, json }: TestResponse) => json.body.error?.code ?? status;

test('a key that is created, rotated or revoked over HTTP counts from the response on', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const client = new Operator({ url: service.origin, key: keys.admin });
  const expiresAt = new Date(Date.now() + dayMs);
  const made = await client.keys.create({
    name: 'shelf',
    scopes: ['tables:read', 'tables:write'],
    tables: ['books'],
    expiresAt,
  });
  assert.match(made.key, /^cfk_[0-9a-f]{16}\.[\w-]{43}$/);
  assert.deepEqual(made, {
    id: idWithin(made.key),
    kind: 'secret',
    name: 'shelf',
    status: 'valid',
    scopes: ['tables:read', 'tables:write'],
    tables: ['books'],
    routes: null,
    origins: null,
    created_by: `key:${idWithin(keys.admin)}`,
    created_at: made.created_at,
    expires_at: expiresAt.toISOString(),
    revoked_at: null,
    previous_until: null,
    key: made.key,
  });
  assert.equal(await statusWith(service, made.key), 404, 'it is valid: there is no such table');
  const rotated = await client.keys.rotate(made.id, { overlapSeconds: 3_600 });
  assert.notEqual(rotated.key, made.key);
  assert.ok(Date.parse(rotated.previous_until ?? '') > Date.now() + 3_500_000);
  for (const key of [made.key, rotated.key]) assert.equal(await statusWith(service, key), 404);
  const ended = await client.keys.rotate(made.id, { overlapSeconds: 0, endsPrevious: true });
  assert.equal(ended.previous_until, null);
  for (const key of [made.key, rotated.key]) assert.equal(await statusWith(service, key), 401);
  const { keys: listed, next } = await client.keys.list();
  assert.deepEqual([listed.map(({ name }) => name), next], [['admin', 'shelf'], undefined]);
  const revoked = await client.keys.revoke(made.id);
  assert.deepEqual([revoked.status, await statusWith(service, ended.key)], ['revoked', 401]);
  assert.equal((await client.keys.revoke(made.id)).revoked_at, revoked.revoked_at, 'it stays as it is');
});

test('a secret is in one response, which no cache keeps, and not in the list, the log or the audit trail', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const by = bearing(keys.admin);
  const made = await service.post(path, { name: 'a', scopes: ['metrics:read'] }, by);
  const rotated = await rotate(service, made.json.body.key, keys.admin);
  const wrong = await service.post(path, { name: 'a', scopes: ['metrics:read'] }, by);
  const revoked = await revoke(service, made.json.body.key, keys.admin);
  for (const { headers } of [made, rotated]) assert.equal(headers.get('cache-control'), 'no-store');
  const list = await service.get(path, by);
  const trail = await service.get('/v3/audit', by);
  const elsewhere = [wrong, revoked, list, trail].map(({ text }) => text).concat(service.logged());
  for (const { json } of [made, rotated]) {
    const secret = json.body.key.split('.')[1];
    assert.ok(elsewhere.every((text) => !text.includes(secret)));
  }
  assert.ok(!/hash/.test(list.text + made.text), 'and no hash');
});

test('the list has pages in the order of creation, and when each key was used', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    admin: { scopes: ['admin'] },
    reader: { scopes: ['keys:read'] },
    idle: {},
    last: {},
  });
  const client = new Operator({ url: service.origin, key: keys.reader });
  const names: string[] = [];
  let after: string | undefined;
  do {
    const page = await client.keys.list({ limit: 3, ...(after === undefined ? {} : { after }) });
    names.push(...page.keys.map(({ name }) => name));
    after = page.next;
  } while (after !== undefined);
  const all = (await client.keys.list()).keys;
  assert.deepEqual(
    names,
    all.map(({ name }) => name),
  );
  assert.deepEqual(names.toSorted(), ['admin', 'idle', 'last', 'reader']);
  const times = all.map(({ created_at }) => created_at);
  assert.deepEqual(times, times.toSorted());
  // The use is stored beside the request.
  const lastUseOf = async (name: string) =>
    (await client.keys.list()).keys.find((each) => each.name === name)?.last_used_at;
  for (let waited = 0; (await lastUseOf('reader')) === null; waited += 20) {
    assert.ok(waited < givenUpMs);
    await sleep(20);
  }
  assert.ok(Math.abs(Date.parse((await lastUseOf('reader')) ?? '') - Date.now()) < dayMs);
  assert.equal(await lastUseOf('idle'), null);
  assertError(await service.get(`${path}?after=x`, bearing(keys.reader)), {
    status: 400,
    code: 'invalid_request',
    param: 'after',
  });
});

test('the command makes the first key of an open service while it runs; then nobody is admitted without one', async (t) => {
  const service = await startTestService(t);
  assert.equal((await service.get(path)).text, '{"statusCode":200,"body":[]}');
  const make = (name: string) => service.post(path, { name, scopes: ['admin'] });
  const racing = ['a', 'b', 'c'].map(make);
  const admin = await newKey(service.data, { scopes: ['admin'] });
  // 401 if the service knows of the key already, 403 if not yet.
  for (const { status } of await Promise.all(racing)) assert.ok([401, 403].includes(status));
  assert.equal((await service.get(path, bearing(admin))).json.body.length, 1);
  for (let waited = 0; (await service.get(path)).status !== 401; waited += 20) {
    assert.ok(waited < givenUpMs);
    await sleep(20);
  }
  assertError(await make('d'), { status: 401, code: 'unauthenticated' });
  const { body } = (await service.get('/v3/audit', bearing(admin))).json;
  assert.deepEqual([body[0].what, body[0].on, body[0].by], ['key.created', idWithin(admin), 'cli']);
});

test('a name that a valid key has is taken, also while several are created at once, and free when it has ended', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const create = () => service.post(path, { name: 'a', scopes: ['metrics:read'] }, bearing(keys.admin));
  const responses = await Promise.all(Array.from({ length: 8 }, create));
  assert.deepEqual(responses.map(outcome).sort(), [200, ...Array(7).fill('key_exists')]);
  assertError(await create(), { status: 409, code: 'key_exists', param: 'name' });
  const made = responses.find(({ status }) => status === 200)?.json.body.key;
  await revoke(service, made, keys.admin);
  assert.equal((await create()).status, 200);
});

test('of two rotations at once one is made, so that the secret in use stays valid', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    admin: { scopes: ['admin'] },
    used: { scopes: ['tables:read'] },
  });
  const both = await Promise.all([
    rotate(service, keys.used, keys.admin),
    rotate(service, keys.used, keys.admin, {}),
  ]);
  assert.deepEqual(both.map(outcome).sort(), [200, 'rotation_unfinished']);
  assertError(await rotate(service, keys.used, keys.admin, { overlap_seconds: 0 }), {
    status: 409,
    code: 'rotation_unfinished',
    param: 'ends_previous',
  });
  assert.equal(await statusWith(service, keys.used), 404);
  assert.equal((await rotate(service, keys.used, keys.admin, { ends_previous: true })).status, 200);
  assert.equal(await statusWith(service, keys.used), 401, 'at most two secrets');
});

test('the last admin key stays, also if two are revoked by each other at once', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    one: { scopes: ['admin'] },
    other: { scopes: ['admin'] },
    rest: { scopes: everyScope },
  });
  const responses = await Promise.all([
    revoke(service, keys.other, keys.one),
    revoke(service, keys.one, keys.other),
  ]);
  const [left, lost] = responses[0]?.status === 200 ? [keys.one, keys.other] : [keys.other, keys.one];
  assert.deepEqual(responses.map(outcome).sort(), [200, 'unauthenticated']);
  assert.equal((await service.get(path, bearing(lost))).status, 401);
  assertError(await revoke(service, left, left), { status: 409, code: 'last_admin_key', param: 'key_id' });
  assert.equal((await revoke(service, keys.rest, left)).status, 200);
  assert.equal((await service.get(path, bearing(left))).status, 200);
});

test('the audit trail names the key, and the request of a person in the console', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const { headers } = await signInToConsole(service, keys.admin);
  const made = await service.post(path, { name: 'a', scopes: ['metrics:read'] }, headers);
  await rotate(service, made.json.body.key, keys.admin);
  const gone = await revoke(service, made.json.body.key, keys.admin);
  const by = `key:${idWithin(keys.admin)}`;
  const on = made.json.body.id;
  const acts = (await service.get('/v3/audit', bearing(keys.admin))).json.body.slice(0, 4);
  assert.deepEqual(
    acts.map((act: Record<string, string>) => [act.what, act.on, act.by]),
    [
      ['key.revoked', on, by],
      ['key.rotated', on, by],
      ['key.created', on, by],
      ['console.requested', `POST ${path}`, by],
    ],
  );
  assert.equal(acts[0].request_id, gone.headers.get('request-id'));
  assert.equal(acts[2].request_id, made.headers.get('request-id'));
  assert.equal(acts[3].request_id, acts[2].request_id);
});

test('a malformed request changes nothing, and names the field', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const scopes = ['tables:read'];
  const browser = { name: 'a', kind: 'publishable', origins: ['https://shop.example'] };
  const long = 'a'.repeat(400);
  for (const [body, param] of [
    [{ scopes }, 'name'],
    [{ name: '', scopes }, 'name'],
    [{ name: 'a\u202eb', scopes }, 'name'],
    [{ name: 'a' }, 'scopes'],
    [{ name: 'a', scopes: [] }, 'scopes'],
    [{ name: 'a', scopes: ['all'] }, 'scopes'],
    [{ name: 'a', scopes: ['tables:read', 'tables:read'] }, 'scopes'],
    [{ name: 'a', scopes: 'admin' }, 'scopes'],
    [{ name: 'a', scopes: ['admin'], tables: ['books'] }, 'tables'],
    [{ name: 'a', scopes, tables: [] }, 'tables'],
    [{ name: 'a', scopes, tables: [long] }, 'tables'],
    [{ name: 'a', scopes, routes: ['stripe/charge'] }, 'routes'],
    [{ name: 'a', scopes: ['payments:read'], routes: [`${long}/charge`] }, 'routes'],
    [{ name: 'a', scopes, origins: ['https://shop.example'] }, 'origins'],
    [{ ...browser, origins: [`https://${long}.example`] }, 'origins'],
    [{ ...browser, scopes: ['admin'] }, 'scopes'],
    [{ name: 'a', kind: 'other', scopes }, 'kind'],
    [{ name: 'a', scopes, expires_at: 'soon' }, 'expires_at'],
    [{ name: 'a', scopes, expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ name: 'a', scopes, expires_at: null }, 'expires_at'],
    [{ name: 'a', scopes, hash: 'x' }, 'hash'],
    [{ name: 'a', scopes, shop: 'x' }, 'shop'],
  ] as const) {
    const response = await service.post(path, body, bearing(keys.admin));
    assertError(response, { status: 400, code: 'invalid_request', param });
  }
  for (const body of [{ overlap_seconds: -1 }, { overlap_seconds: 1.5 }, { overlap_seconds: 31 * 86_400 }])
    assertError(await rotate(service, keys.admin, keys.admin, body), {
      status: 400,
      code: 'invalid_request',
      param: 'overlap_seconds',
    });
  const unknown = `${path}/0123456789abcdef`;
  const by = bearing(keys.admin);
  const missing = [
    await service.post(`${unknown}/rotate`, {}, by),
    await service.send('DELETE', unknown, undefined, by),
    await service.post(path, { name: 'a', scopes, replaces: 'x' }, by),
  ];
  for (const response of missing) assertError(response, { status: 404, code: 'key_not_found' });
  const stored = await withKeys(service.data, (store) => store.list());
  assert.deepEqual(
    stored.map(({ name, previous }) => [name, previous]),
    [['admin', undefined]],
  );
});
