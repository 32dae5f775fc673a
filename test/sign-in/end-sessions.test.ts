import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sessionCookieAt } from '../../src/http/routes/sign-in.ts';
import { livesOf, startForOperators } from '../support/sign-in/operators.ts';
import { whoIs } from '../support/sign-in/signing-in.ts';

const hour = 60 * 60_000;

test('lists sessions by user, integration and age, without their secrets', async (t) => {
  let now = Date.now();
  const { service, signing, enter } = await startForOperators(t, { now: () => now });
  const old = await enter('user-1');
  now += 3 * hour;
  const ofShop = await enter('user-1', 'oidc/shop');
  const other = await enter('user-2');
  const idOf = async ({ browser }: typeof old) => (await whoIs(signing, browser)).body.session.id;
  const ids = { old: await idOf(old), ofShop: await idOf(ofShop), other: await idOf(other) };
  for (const [query, expected] of [
    ['', [ids.old, ids.ofShop, ids.other]],
    [`?user=${old.id}`, [ids.old, ids.ofShop]],
    ['?integration=oidc/shop', [ids.ofShop]],
    ['?older_than=2h', [ids.old]],
    ['?older_than=4h', []],
    [`?user=${old.id}&integration=oidc/web&older_than=1h`, [ids.old]],
    [`?user=${other.id}&integration=oidc/shop`, []],
  ] as const) {
    const { status, json, text } = await service.get(`/v3/sessions${query}`);
    assert.equal(status, 200, text);
    const listed = json.body.map((session: { id: string }) => session.id);
    assert.deepEqual(listed.sort(), [...expected].sort(), query);
    for (const { browser } of [old, ofShop, other]) {
      const secret = browser.cookie(sessionCookieAt(service.origin))?.slice(23) ?? '';
      assert.ok(secret.length > 20 && !text.includes(secret));
    }
  }
  const [session] = (await service.get(`/v3/sessions?user=${other.id}`)).json.body;
  const { created_at, last_seen_at, expires_at, ...rest } = session;
  assert.deepEqual(rest, { id: ids.other, user: other.id, provider: 'oidc', integration: 'web' });
  assert.equal(created_at, new Date(now).toISOString());
  assert.ok(Date.parse(last_seen_at) >= now && Date.parse(expires_at) > now);
});

test('ends one session by its id, with its tokens', async (t) => {
  const { service, signing, enter } = await startForOperators(t);
  const [one, other] = [await enter('user-1'), await enter('user-1')];
  const { id } = (await whoIs(signing, one.browser)).body.session;
  const { status, text } = await service.send('DELETE', `/v3/sessions/${id}`);
  assert.equal(status, 200, text);
  assert.deepEqual(await livesOf(service.origin, one), [false, false]);
  assert.deepEqual(await livesOf(service.origin, other), [true, true]);
  const again = await service.send('DELETE', `/v3/sessions/${id}`);
  assert.deepEqual([again.status, again.json.body.error.code], [404, 'session_not_found']);
});

for (const [name, query, ended] of [
  ['user', (id: string) => `user=${id}`, [true, true, false]],
  ['integration', () => 'integration=oidc/web', [true, false, true]],
  ['age', () => 'older_than=2h', [true, false, false]],
  ['user and integration', (id: string) => `user=${id}&integration=oidc/shop`, [false, true, false]],
] as const) {
  test(`ends sessions by ${name}, with their tokens`, async (t) => {
    let now = Date.now();
    const { service, enter } = await startForOperators(t, { now: () => now });
    const first = await enter('user-1');
    now += 3 * hour;
    const people = [first, await enter('user-1', 'oidc/shop'), await enter('user-2')];
    const { status, json, text } = await service.send('DELETE', `/v3/sessions?${query(first.id)}`);
    assert.equal(status, 200, text);
    assert.equal(json.body.ended, ended.filter(Boolean).length);
    for (const [index, person] of people.entries()) {
      const lives = ended[index] !== true;
      assert.deepEqual(await livesOf(service.origin, person), [lives, lives], `person ${index}`);
    }
  });
}

test('ends no session without a valid filter', async (t) => {
  const { service, enter } = await startForOperators(t);
  const person = await enter('user-1');
  for (const query of [
    '',
    '?',
    '?user=',
    '?integration=',
    '?older_than=',
    '?older_than=yesterday',
    '?integration=web',
    '?everyone=true',
    `?user=${person.id}&user=${person.id}`,
  ]) {
    const { status } = await service.send('DELETE', `/v3/sessions${query}`);
    assert.equal(status, 400, query);
  }
  assert.deepEqual(await livesOf(service.origin, person), [true, true]);
});
