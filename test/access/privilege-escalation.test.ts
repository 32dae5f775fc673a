import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Administrators } from '../../src/access/console/administrators.ts';
import type { ApiKey, CreateKeyRequest } from '../../src/access/keys/api-key.ts';
import { ApiKeys } from '../../src/access/keys/api-keys.ts';
import { KeyRing } from '../../src/access/keys/key-ring.ts';
import { Keys } from '../../src/access/keys/keys.ts';
import { callerAs, callerWith } from '../../src/access/permission.ts';
import { scopes } from '../../src/access/scopes.ts';
import type { Engine } from '../../src/storage/engine.ts';
import {
  bearing,
  everyScope,
  idWithin,
  keyRequest,
  startServiceWithKeys,
  withKeys,
} from '../support/access/keys.ts';
import { signInToConsole } from '../support/console/sign-in.ts';
import { assertError } from '../support/http/error-response.ts';
import { newDataFolder, openStoreOf, type TestService } from '../support/service.ts';

const path = '/v3/keys';
const dayMs = 24 * 60 * 60 * 1_000;
const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString();
const create = (service: TestService, by: string, fields: object) =>
  service.post(path, { name: 'new', ...fields }, bearing(by));
const rotate = (service: TestService, key: string, by: string, body = {}) =>
  service.post(`${path}/${idWithin(key)}/rotate`, body, bearing(by));
const revoke = (service: TestService, key: string, by: string) =>
  service.send('DELETE', `${path}/${idWithin(key)}`, undefined, bearing(by));
/** All that is stored of the keys. */
const stored = ({ data }: TestService) => withKeys(data, (keys) => keys.list());

/** A key that writes keys, and what is more than it, by the part that is more. */
const clerk = {
  scopes: ['keys:write', 'tables:read', 'payments:create'],
  tables: ['books', 'films'],
  routes: ['simulated/charge'],
  expiresAt: inDays(10),
} as const satisfies Partial<CreateKeyRequest>;
const fits = { scopes: ['tables:read', 'keys:write'], tables: ['books'], expiresAt: inDays(9) } as const;
const exceeding: readonly (readonly [string, Partial<CreateKeyRequest>])[] = [
  ...scopes
    .filter((scope) => !(clerk.scopes as readonly string[]).includes(scope))
    .map((scope) => ['scopes', { scopes: [scope], expiresAt: inDays(1) }] as const),
  ['scopes', { ...fits, scopes: ['tables:read', 'tables:write'] }],
  ['tables', { scopes: ['tables:read'], expiresAt: inDays(1) }],
  ['tables', { ...fits, tables: ['books', 'songs'] }],
  ['routes', { scopes: ['payments:create'], expiresAt: inDays(1) }],
  ['routes', { scopes: ['payments:create'], routes: ['simulated/donation'], expiresAt: inDays(1) }],
  [
    'routes',
    {
      kind: 'publishable',
      scopes: ['payments:create'],
      origins: ['https://a.example'],
      expiresAt: inDays(1),
    },
  ],
  ['expires_at', { scopes: ['tables:read'], tables: ['books'] }],
  ['expires_at', { ...fits, expiresAt: inDays(11) }],
];

test('a key creates no key that may do more than itself, or outlives it', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { clerk });
  const before = await stored(service);
  for (const [param, { expiresAt, ...fields }] of exceeding) {
    const body = { ...fields, ...(expiresAt === undefined ? {} : { expires_at: expiresAt }) };
    assertError(await create(service, keys.clerk, body), { status: 403, code: 'forbidden', param });
  }
  assert.deepEqual(
    (await stored(service)).map(({ id }) => id),
    before.map(({ id }) => id),
  );
  const { expiresAt, ...fields } = fits;
  const made = await create(service, keys.clerk, { ...fields, expires_at: expiresAt });
  assert.equal(made.status, 200, made.text);
  const grandchild = {
    name: 'grandchild',
    scopes: ['tables:read'],
    tables: ['films'],
    expires_at: expiresAt,
  };
  assertError(await create(service, made.json.body.key, grandchild), {
    status: 403,
    code: 'forbidden',
    param: 'tables',
  });
});

test('a key rotates and revokes no key that may do more than itself, or outlives it', async (t) => {
  const others = Object.fromEntries(exceeding.map(([, fields], index) => [`other-${index}`, fields]));
  const { service, keys } = await startServiceWithKeys(t, { ...others, clerk, own: fits });
  const texts = keys as Readonly<Record<string, string>>;
  for (const [name, key] of Object.entries(texts).filter(([each]) => each.startsWith('other-'))) {
    for (const response of [
      await rotate(service, key, texts.clerk as string),
      await revoke(service, key, texts.clerk as string),
    ]) {
      assertError(response, { status: 403, code: 'forbidden', param: 'key_id' });
      assert.ok(!response.text.includes('cfk_'), name);
    }
  }
  const untouched = (await stored(service)).filter(({ name }) => name !== 'clerk');
  assert.ok(untouched.every(({ previous, revokedAt }) => previous === undefined && revokedAt === undefined));
  assert.equal((await rotate(service, texts.own as string, texts.clerk as string)).status, 200);
  assert.equal((await revoke(service, texts.own as string, texts.clerk as string)).status, 200);
});

test('a key takes over no idempotency keys of one that may do more: by its name or by its id, revoked or not', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    admin: { scopes: ['admin'] },
    shop: { scopes: ['payments:create', 'payments:refund'] },
    clerk: { scopes: ['keys:write', 'payments:create'] },
  });
  assert.equal((await revoke(service, keys.shop, keys.admin)).status, 200);
  const request = { scopes: ['payments:create'] };
  for (const [fields, param] of [
    [{ name: 'shop' }, 'name'],
    [{ replaces: idWithin(keys.shop) }, 'replaces'],
    [{ replaces: idWithin(keys.admin) }, 'replaces'],
  ] as const)
    assertError(await create(service, keys.clerk, { ...request, ...fields }), {
      status: 403,
      code: 'forbidden',
      param,
    });
  const successor = await create(service, keys.admin, { ...request, name: 'shop' });
  assert.equal(successor.status, 200);
  const [made] = (await stored(service)).filter(({ id }) => id === successor.json.body.id);
  assert.equal(made?.shop, idWithin(keys.shop), 'an administrator may');
});

test('an admin key that expires makes no key that stays, and cannot give itself more time', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    owner: { scopes: ['admin'] },
    guest: { scopes: ['admin'], expiresAt: inDays(1) },
  });
  for (const response of [
    await create(service, keys.guest, { scopes: ['admin'] }),
    await create(service, keys.guest, { scopes: ['metrics:read'], expires_at: inDays(2) }),
    await rotate(service, keys.owner, keys.guest),
    await revoke(service, keys.owner, keys.guest),
  ])
    assertError(response, { status: 403, code: 'forbidden' });
  assert.equal((await rotate(service, keys.guest, keys.guest)).status, 200);
});

test('a secret that was replaced gives nothing that outlasts its overlap: a leaked one does not come back', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] }, other: {} });
  const console = await signInToConsole(service, keys.admin);
  const rotated = await rotate(service, keys.admin, keys.admin, { overlap_seconds: 3_600 });
  const present = rotated.json.body.key;
  const id = idWithin(keys.admin);
  for (const headers of [bearing(keys.admin), console.headers])
    for (const response of [
      await service.post(path, { name: 'new', scopes: ['admin'] }, headers),
      await service.post(path, { name: 'new', scopes: ['admin'], expires_at: inDays(1) }, headers),
      await service.post(`${path}/${id}/rotate`, { ends_previous: true }, headers),
      await service.send('DELETE', `${path}/${id}`, undefined, headers),
      await service.send('DELETE', `${path}/${idWithin(keys.other)}`, undefined, headers),
    ]) {
      assertError(response, { status: 403, code: 'forbidden' });
      assert.match(response.json.body.error.message, /^A rotation has replaced the secret of this request/);
    }
  const within = { scopes: ['metrics:read'], expires_at: new Date(Date.now() + 600_000).toISOString() };
  assert.equal((await create(service, keys.admin, within)).status, 200);
  assert.equal((await create(service, present, { name: 'b', scopes: ['admin'] })).status, 200);
});

test('a key that another process has just revoked or rotated makes no successor', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    admin: { scopes: ['admin'] },
    revoked: { scopes: ['admin'] },
    rotated: { scopes: ['admin'] },
    other: {},
  });
  const ended = ['revoked', 'rotated'] as const;
  // So that this process does not read the keys again before the requests.
  for (const name of ended) await service.get(path, bearing(keys[name]));
  await withKeys(service.data, async (store) => {
    await store.revoke(idWithin(keys.revoked));
    await store.rotate(idWithin(keys.rotated), 0);
  });
  const before = await stored(service);
  for (const name of ended)
    for (const response of [
      await create(service, keys[name], { scopes: ['admin'] }),
      await rotate(service, keys[name], keys[name]),
      await rotate(service, keys.other, keys[name]),
      await revoke(service, keys.other, keys[name]),
    ])
      assertError(response, { status: 401, code: 'unauthenticated' });
  const facts = (all: typeof before) => all.map(({ id, hash, revokedAt }) => [id, hash, revokedAt]);
  assert.deepEqual(facts(await stored(service)), facts(before));
});

test('a revocation between the check of the caller and the commit wins', async (t) => {
  const engine = await openStoreOf(newDataFolder(t));
  try {
    const operator = new ApiKeys(engine, 'cli');
    await operator.create(keyRequest({ name: 'admin', scopes: ['admin'] }));
    const { key, text } = await operator.create(keyRequest({ name: 'clerk' }));
    const other = await operator.create(keyRequest({ name: 'other', scopes: ['metrics:read'] }));
    const ring = new KeyRing(engine, Date.now);
    await ring.refresh();
    const caller = callerWith(ring.find(text) as ApiKey);
    let commits = 0;
    const late = committing(engine, async (writes) => {
      if (commits++ === 0) await operator.revoke(key.id);
      return engine.commit(writes);
    });
    const by = { caller, requestId: 'req_1' };
    const administration = new Keys(late, new Administrators(late, Date.now), Date.now, ring);
    const request = keyRequest({ name: 'successor', scopes: everyScope });
    await assert.rejects(administration.create(by, request), { code: 'unauthenticated' });
    assert.equal(commits, 1, 'the first commit met the revocation');
    assert.deepEqual((await operator.list()).map(({ name }) => name).sort(), ['admin', 'clerk', 'other']);
    await assert.rejects(administration.revoke(by, other.key.id), { code: 'unauthenticated' });
  } finally {
    await engine.close();
  }
});

test('an administrator who is removed, or gets fewer scopes, before the commit makes no key', async (t) => {
  const engine = await openStoreOf(newDataFolder(t));
  try {
    const ring = new KeyRing(engine, Date.now);
    await ring.refresh();
    const administrators = new Administrators(engine, Date.now);
    const registration = { id: 'r1', integration: 'oidc/web' };
    const who = { id: 'ada', issuer: 'https://idp.example', subject: 'ada', registration };
    const by = { by: 'cli' } as const;
    let meanwhile: (() => Promise<unknown>) | undefined;
    const late = committing(engine, async (writes) => {
      await meanwhile?.();
      meanwhile = undefined;
      return engine.commit(writes);
    });
    const administration = new Keys(late, administrators, Date.now, ring);
    const add = async (given: typeof everyScope) => ({
      caller: callerAs(await administrators.add({ ...who, scopes: given }, by)),
      requestId: 'req_1',
    });
    const every = await add(everyScope);
    meanwhile = () => add(['keys:write', 'tables:read']);
    const wide = keyRequest({ name: 'wide', scopes: ['payments:refund'] });
    await assert.rejects(administration.create(every, wide), { code: 'forbidden' });
    const made = await administration.create(every, keyRequest({ name: 'narrow', scopes: ['tables:read'] }));
    assert.deepEqual(made.key.scopes, ['tables:read']);
    meanwhile = () => administrators.remove(who.id, by);
    await assert.rejects(administration.rotate(every, made.key.id, { overlapMs: 0, endsPrevious: false }), {
      code: 'unauthenticated',
    });
    await assert.rejects(administration.revoke(every, made.key.id), { code: 'unauthenticated' });
    const [listed, ...others] = await new ApiKeys(engine, 'cli').list();
    assert.deepEqual([listed?.name, listed?.revokedAt, others], ['narrow', undefined, []]);
  } finally {
    await engine.close();
  }
});

/** An engine with another `commit`. */
function committing(engine: Engine, commit: Engine['commit']): Engine {
  return new Proxy(engine, {
    get: (target, name) => {
      const value = Reflect.get(target, name);
      if (name === 'commit') return commit;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
