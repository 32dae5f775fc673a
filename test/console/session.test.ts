import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { consoleSessionMsMax } from '../../src/access/console/console-session.ts';
import { auditTrail } from '../../src/audit/audit.ts';
import { idWithin, startServiceWithKeys, withKeys } from '../support/access/keys.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { fromPage, signInToConsole } from '../support/console/sign-in.ts';
import { payment } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { openStoreOf, startTestService } from '../support/service.ts';

const path = '/console/session';
const create = '/v3/table/books/create';
const item = { id: 'emma', name: 'Jane Austen' };

test('exchanges a key for a cookie that no script and no other site can use, and that does not contain the key', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const { response, headers, cookie } = await signInToConsole(service, keys.admin);
  assert.equal(response.status, 200, response.text);
  const [, ...attributes] = (response.headers.get('set-cookie') ?? '').split('; ');
  assert.deepEqual(attributes.sort(), ['HttpOnly', `Max-Age=${8 * 3_600}`, 'Path=/', 'SameSite=Strict']);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  const secret = cookie.split('=')[1] as string;
  assert.match(secret, /^[\w-]{43}$/);
  const known = keys.admin.split('.')[1] as string;
  for (const text of [response.text, secret, service.logged()]) assert.ok(!text.includes(known));
  assert.ok(!response.text.includes(secret) && !service.logged().includes(secret));
  const { body } = (await service.get(path, headers)).json;
  assert.deepEqual([body.mode, body.key.id, body.scopes], ['key', idWithin(keys.admin), ['admin']]);
});

test('over https the cookie is bound to the host and to https', async (t) => {
  const { service, keys } = await startServiceWithKeys(
    t,
    { admin: { scopes: ['admin'] } },
    { env: { COUNTERFOIL_PUBLIC_URL: 'https://pay.example' } },
  );
  const at = { origin: 'https://pay.example' };
  const { response, headers } = await signInToConsole(service, keys.admin, at);
  assert.match(response.headers.get('set-cookie') ?? '', /^__Host-.*; Secure$/);
  assert.equal((await service.get(path, { ...headers, ...at })).status, 200);
  const elsewhere = await signInToConsole(service, keys.admin);
  assertError(elsewhere.response, { status: 403, code: 'forbidden', param: 'Origin' });
});

test('a session may do what its key may; the service rejects the rest', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    reader: { scopes: ['tables:read'], tables: ['books'] },
    admin: { scopes: ['admin'] },
  });
  const admin = await signInToConsole(service, keys.admin);
  assert.equal((await service.post(create, item, admin.headers)).status, 200);
  const { headers } = await signInToConsole(service, keys.reader);
  assert.equal((await service.get('/v3/table/books/read', headers)).status, 200);
  const rejected = [
    await service.post(create, item, headers),
    await service.get('/v3/table/films/read', headers),
    await service.get('/stage/payment/simulated/charge', headers),
    await service.get('/metrics', headers),
    await service.send('DELETE', '/v3/table/books', undefined, headers),
  ];
  for (const response of rejected) assertError(response, { status: 403, code: 'forbidden' });
});

test('a cookie alone authorizes nothing, and neither does the token of another session', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const one = await signInToConsole(service, keys.admin);
  const other = await signInToConsole(service, keys.admin);
  const { 'console-token': _, ...withoutToken } = one.headers as Record<string, string>;
  assertError(await service.post(create, item, withoutToken), { status: 401, code: 'unauthenticated' });
  assertError(await service.get('/v3/tables', withoutToken), { status: 401, code: 'unauthenticated' });
  for (const token of [other.token, '', 'x', `${one.token}x`, `${one.token.slice(0, -1)}é`]) {
    const sent = { ...withoutToken, 'console-token': Buffer.from(token).toString('latin1') };
    for (const response of [
      await service.post(create, item, sent),
      await service.get('/v3/tables', sent),
      await service.send('DELETE', path, undefined, sent),
    ])
      assertError(response, { status: 403, code: 'forbidden', param: 'Console-Token' });
  }
  const { cookie: _cookie, ...withoutCookie } = one.headers as Record<string, string>;
  assertError(await service.get('/v3/tables', withoutCookie), { status: 401, code: 'unauthenticated' });
  assert.equal((await service.get('/v3/tables', one.headers)).status, 200);
});

test('a page of another origin can neither sign in, nor act, nor read the token, nor sign out', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const { headers } = await signInToConsole(service, keys.admin);
  const { origin: _origin, 'sec-fetch-site': _site, ...bare } = headers as Record<string, string>;
  const foreign: readonly Record<string, string>[] = [
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { origin: 'null' },
    { origin: `${service.origin}0` },
    { origin: service.origin.replace('http:', 'https:') },
    { origin: service.origin, 'sec-fetch-site': 'same-site' },
    { origin: service.origin, 'sec-fetch-site': 'cross-site' },
  ];
  for (const from of foreign) {
    const sent = { ...bare, ...from };
    for (const response of [
      (await signInToConsole(service, keys.admin, from)).response,
      await service.post(create, item, sent),
      await service.get('/v3/tables', sent),
      await service.get(path, sent),
      await service.send('DELETE', path, undefined, sent),
    ]) {
      assertError(response, { status: 403, code: 'forbidden' });
      assert.equal(response.headers.get('access-control-allow-origin'), null);
    }
  }
  // A browser names the origin of every request that is no GET.
  assertError(await service.post(create, item, bare), { status: 403, code: 'forbidden', param: 'Origin' });
  assertError(await service.post(path, { key: keys.admin }), {
    status: 403,
    code: 'forbidden',
    param: 'Origin',
  });
  assert.equal((await service.get(path, headers)).status, 200, 'the session has survived');
});

test('a session ends with its key: revoked by another process, or rotated without overlap', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    revoked: { scopes: ['admin'] },
    rotated: { scopes: ['admin'] },
    kept: { scopes: ['admin'] },
  });
  const browsers = {
    revoked: await signInToConsole(service, keys.revoked),
    rotated: await signInToConsole(service, keys.rotated),
    kept: await signInToConsole(service, keys.kept),
  };
  await withKeys(service.data, async (store) => {
    await store.revoke(idWithin(keys.revoked));
    await store.rotate(idWithin(keys.rotated), 0);
    await store.rotate(idWithin(keys.kept), 60_000);
  });
  for (const name of ['revoked', 'rotated'] as const) {
    const { headers } = browsers[name];
    for (let waited = 0; (await service.get('/v3/tables', headers)).status === 200; waited += 50) {
      assert.ok(waited < givenUpMs, name);
      await sleep(50);
    }
    assertError(await service.get('/v3/tables', headers), { status: 401, code: 'unauthenticated' });
    assertError(await service.get(path, headers), { status: 401, code: 'unauthenticated' });
    assertError((await signInToConsole(service, keys[name])).response, {
      status: 401,
      code: 'unauthenticated',
    });
  }
  assert.equal((await service.get('/v3/tables', browsers.kept.headers)).status, 200);
});

test('a session ends after its time, however busy it was', async (t) => {
  let offset = 0;
  const { service, keys } = await startServiceWithKeys(
    t,
    { admin: { scopes: ['admin'] } },
    { now: () => Date.now() + offset },
  );
  const { headers } = await signInToConsole(service, keys.admin);
  offset = consoleSessionMsMax - 60_000;
  assert.equal((await service.get('/v3/tables', headers)).status, 200);
  offset = consoleSessionMsMax;
  assertError(await service.get('/v3/tables', headers), { status: 401, code: 'unauthenticated' });
});

test('signing out ends the session at the service, so that a copied cookie is worth nothing', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const { headers } = await signInToConsole(service, keys.admin);
  const out = await service.send('DELETE', path, undefined, headers);
  assert.equal(out.status, 200, out.text);
  assert.match(out.headers.get('set-cookie') ?? '', /=; Max-Age=0;/);
  assertError(await service.get('/v3/tables', headers), { status: 401, code: 'unauthenticated' });
});

test('a sign-in never adopts the cookie that the browser had, and ends its session', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const first = await signInToConsole(service, keys.admin);
  const planted = `${first.cookie.split('=')[0]}=${'A'.repeat(43)}`;
  const second = await signInToConsole(service, keys.admin, { cookie: planted });
  assert.notEqual(second.cookie, planted);
  assert.equal((await service.get('/v3/tables', { ...second.headers, cookie: planted })).status, 401);
  const third = await signInToConsole(service, keys.admin, { cookie: first.cookie });
  assert.notEqual(third.cookie, first.cookie);
  assert.equal((await service.get('/v3/tables', first.headers)).status, 401);
  assert.equal((await service.get('/v3/tables', third.headers)).status, 200);
  const twice = { ...third.headers, cookie: `${third.cookie}; ${first.cookie}` };
  assert.equal(
    (await service.get('/v3/tables', twice)).status,
    401,
    'nobody knows which of two is the right one',
  );
});

test('ten tries a minute from one address, with a right key or a wrong one', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const wrong = `${keys.admin.slice(0, -1)}${keys.admin.endsWith('A') ? 'B' : 'A'}`;
  for (let n = 0; n < 10; n++)
    assertError((await signInToConsole(service, wrong)).response, {
      status: 401,
      code: 'unauthenticated',
      param: 'key',
    });
  const { response } = await signInToConsole(service, keys.admin);
  assertError(response, { status: 429, code: 'rate_limited' });
  assert.ok(Number(response.headers.get('retry-after')) >= 1);
});

test('publishable keys, and keys that the network could read, cannot sign in', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    admin: { scopes: ['admin'] },
    shop: {
      kind: 'publishable',
      scopes: ['payments:create'],
      routes: ['simulated/charge'],
      origins: ['https://shop.example'],
    },
  });
  const { response } = await signInToConsole(service, keys.shop);
  assertError(response, { status: 403, code: 'forbidden', param: 'key' });
  const body = JSON.stringify({ key: keys.admin });
  for (const host of ['pay.internal', '192.0.2.7:8080']) {
    const headers = { Host: host, Origin: `http://${host}`, 'Content-Type': 'application/json' };
    const tried = await exchange(service.origin, requestText(service.origin, `POST ${path}`, headers, body));
    assertError(tried, { status: 403, code: 'forbidden' });
    assert.match(tried.json.body.error.message, /https/);
  }
});

test('the audit trail has every sign-in, sign-out and act of the console, with the key', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const { headers } = await signInToConsole(service, keys.admin);
  const paid = await service.post('/stage/payment/simulated/charge', payment.body, headers);
  const id = paid.headers.get('payment-id');
  const refund = `/stage/payment/simulated/charge/${id}/refund`;
  assert.equal((await service.post(refund, {}, headers)).status, 200);
  await service.send('DELETE', path, undefined, headers);
  await service.stop();
  const engine = await openStoreOf(service.data);
  t.after(() => engine.close());
  const by = `key:${idWithin(keys.admin)}`;
  const acts: string[] = [];
  for await (const { what, on, by: who, requestId } of auditTrail(engine)) {
    if (who !== by) continue;
    assert.match(String(requestId), /^req_/);
    acts.push(`${what} ${on}`);
  }
  const key = idWithin(keys.admin);
  assert.deepEqual(acts, [
    `console.signed_in ${key}`,
    'console.requested POST /stage/payment/simulated/charge',
    `console.requested POST ${refund}`,
    `payment.refunded ${id}`,
    `console.signed_out ${key}`,
  ]);
});

test('on a service without keys everybody on the machine is in, and nobody else', async (t) => {
  const service = await startTestService(t);
  const { body } = (await service.get(path, fromPage(service))).json;
  assert.deepEqual([body.mode, body.key, body.token, body.scopes], ['open', null, null, ['admin']]);
  const proxied = await service.get(path, { 'x-forwarded-for': '192.0.2.1' });
  assertError(proxied, { status: 401, code: 'unauthenticated' });
  const foreign = await service.get(path, { origin: 'https://evil.example' });
  assertError(foreign, { status: 403, code: 'forbidden' });
});

test('the settings turn the console off, with its sessions', async (t) => {
  const on = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const { headers } = await signInToConsole(on.service, on.keys.admin);
  await on.service.stop();
  const env = { COUNTERFOIL_CONSOLE: 'off' };
  const service = await startTestService(t, { data: on.service.data, env });
  for (const place of ['/console', '/console/payments', path])
    assertError(await service.get(place), { status: 404, code: 'route_not_found' });
  const sent = { ...headers, origin: service.origin };
  assertError(await service.get('/v3/tables', sent), { status: 401, code: 'unauthenticated' });
});

test('the page learns who may make a table', async (t) => {
  const declared = { COUNTERFOIL_TABLES: 'declared', COUNTERFOIL_DECLARED_TABLES: 'books' };
  for (const [env, policy] of [
    [{}, process.env.TEST_STORE === 'dynamodb' ? 'declared' : 'open'],
    [declared, 'declared'],
  ] as const) {
    const service = await startTestService(t, { env });
    assert.equal((await service.get(path, fromPage(service))).json.body.table_policy, policy);
    await service.stop();
  }
});
