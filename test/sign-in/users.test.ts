import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemsOf } from '../../src/storage/item-text.ts';
import { openStoreOf } from '../support/service.ts';
import { livesOf, startForOperators } from '../support/sign-in/operators.ts';
import { goToCallback, signInPath } from '../support/sign-in/signing-in.ts';

const minute = 60_000;

test('a user has issuer, subject, profile, integration, first and last sign-in', async (t) => {
  let now = Date.now();
  const { service, signing, enter } = await startForOperators(t, { now: () => now });
  const first = new Date(now).toISOString();
  const { id } = await enter('user-1');
  now += 5 * minute;
  await enter('user-1', 'oidc/shop');
  const { status, json, text } = await service.get(`/v3/users/${id}`);
  assert.equal(status, 200, text);
  assert.deepEqual(json.body, {
    id,
    issuer: signing.provider.issuer,
    subject: 'user-1',
    provider: 'oidc',
    integration: 'shop',
    name: 'Name of user-1',
    email: 'user-1@example.com',
    email_verified: true,
    first_sign_in_at: first,
    last_sign_in_at: new Date(now).toISOString(),
  });
});

test('lists users in pages, until all were returned', async (t) => {
  const { service, enter } = await startForOperators(t);
  const ids = [];
  for (let count = 0; count < 5; count++) ids.push((await enter(`user-${count}`)).id);
  const shown: string[] = [];
  let path = '/v3/users?limit=2';
  for (let pages = 0; pages < 5; pages++) {
    const { status, json, text } = await service.get(path);
    assert.equal(status, 200, text);
    assert.ok(json.body.length <= 2);
    shown.push(...json.body.map((user: { id: string }) => user.id));
    if (json.next === undefined) break;
    path = `/v3/users?limit=2&after=${encodeURIComponent(json.next)}`;
  }
  assert.deepEqual(shown.sort(), ids.sort());
  for (const query of ['limit=0', 'limit=x', 'limit=100000', 'order=name', 'after=']) {
    assert.equal((await service.get(`/v3/users?${query}`)).status, 400, query);
  }
});

test('returns user_not_found for an unknown id', async (t) => {
  const { service } = await startForOperators(t);
  assert.deepEqual((await service.get('/v3/users')).json.body, []);
  for (const method of ['GET', 'DELETE']) {
    for (const id of ['A'.repeat(22), 'x', 'user-1']) {
      const { status, json, text } = await service.send(method, `/v3/users/${id}`);
      assert.equal(status, 404, `${method} ${id}: ${text}`);
      assert.equal(json.body.error.code, 'user_not_found');
    }
  }
});

test('deleting a user signs them out everywhere, and no other user', async (t) => {
  const { service, signing, enter } = await startForOperators(t);
  const here = await enter('user-1');
  const there = await enter('user-1', 'oidc/shop');
  const other = await enter('user-2');
  const deleted = await service.send('DELETE', `/v3/users/${here.id}`);
  assert.equal(deleted.text, '{"statusCode":200,"body":{"message":"User deleted"}}');
  for (const person of [here, there]) {
    assert.deepEqual(await livesOf(service.origin, person), [false, false]);
  }
  assert.deepEqual(await livesOf(service.origin, other), [true, true]);
  assert.equal((await service.get(`/v3/users/${here.id}`)).status, 404);
  assert.equal((await service.send('DELETE', `/v3/users/${here.id}`)).status, 404);
  // The provider still authenticates the user, who comes back as a new user.
  signing.provider.subject = 'user-1';
  const callback = await goToCallback(signing, signInPath);
  assert.equal((await signing.browser.open(callback)).status, 303);
  assert.equal((await service.get(`/v3/users/${here.id}`)).status, 200);
});

test('no record has personal data of a deleted user', async (t) => {
  const { service, enter } = await startForOperators(t);
  const { id } = await enter('canary-person');
  await enter('user-2');
  assert.equal((await service.send('DELETE', `/v3/users/${id}`)).status, 200);
  await service.stop();
  assert.deepEqual(await recordsWith(service.data, 'canary-person'), []);
  assert.ok((await recordsWith(service.data, 'user-2')).length > 0, 'the search finds stored data');
});

/** The spaces of the store that have a record with this text. */
async function recordsWith(data: string, text: string): Promise<string[]> {
  const engine = await openStoreOf(data);
  try {
    const found = new Set<string>();
    for (const space of await engine.spaces()) {
      const scan = await engine.scan(space);
      for await (const { id, name } of itemsOf(scan?.chunks ?? [])) {
        if (`${id}${name}`.includes(text)) found.add(space);
      }
    }
    return [...found];
  } finally {
    await engine.close();
  }
}
