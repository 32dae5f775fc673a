import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiKey } from '../../src/access/keys/api-key.ts';
import { ApiKeys, apiKeysOfHolderMax } from '../../src/access/keys/api-keys.ts';
import { apiKeyCreatorsMax, creatorsBy, firstHolder } from '../../src/access/keys/privilege-escalation.ts';
import type { Actor } from '../../src/audit/audit.ts';
import { bearing, idWithin, keyRequest, startServiceWithKeys, withKeys } from '../support/access/keys.ts';
import { readPath } from '../support/http/documented-operations.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';

const path = '/v3/keys';

test('a key shows who created it; the list and a revocation find what its keys have made, too', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    admin: { scopes: ['admin'] },
    holder: { scopes: ['keys:write', 'tables:read'] },
  });
  const make = async (name: string, by: string) => {
    const made = await service.post(path, { name, scopes: ['keys:write', 'tables:read'] }, bearing(by));
    assert.equal(made.status, 200, made.text);
    assert.equal(made.json.body.created_by, `key:${idWithin(by)}`);
    return made.json.body.key as string;
  };
  const child = await make('child', keys.holder);
  await make('grandchild', child);
  const other = await make('other', keys.admin);
  const listed = async (creator: string) => {
    const { json } = await service.get(`${path}?created_by=${creator}`, bearing(keys.admin));
    return json.body.map(({ name }: { name: string }) => name);
  };
  const holder = idWithin(keys.holder);
  assert.deepEqual(await listed(`key:${holder}`), ['child', 'grandchild']);
  assert.deepEqual(await listed(holder), ['child', 'grandchild']);
  assert.deepEqual(await listed(idWithin(child)), ['grandchild']);
  assert.deepEqual(await listed('key:none'), []);
  const first = await service.get(`${path}?created_by=${holder}&limit=1`, bearing(keys.admin));
  const next = `${path}?created_by=${holder}&limit=1&after=${first.json.next}`;
  const second = (await service.get(next, bearing(keys.admin))).json;
  assert.deepEqual([second.body[0].name, second.next], ['grandchild', undefined]);

  // The key in the middle is gone from the valid ones; what it made is still found by its holder.
  await service.send('DELETE', `${path}/${idWithin(child)}`, undefined, bearing(keys.admin));
  const revoked = await withKeys(service.data, (store) => store.revokeCreatedBy(holder));
  assert.deepEqual(
    revoked.map(({ name }) => name),
    ['grandchild'],
  );
  const status = async (key: string) => (await service.get(readPath, bearing(key))).status;
  assert.deepEqual(await withKeys(service.data, (store) => store.validCreatedBy(holder)), []);
  const stored = await service.get(path, bearing(keys.admin));
  const ended = stored.json.body.filter(({ status }: { status: string }) => status === 'revoked');
  assert.equal(ended.length, 2);
  for (const key of [keys.holder, other]) assert.equal(await status(key), 404, 'the others stay valid');
});

test('one holder of keys:write cannot use up the keys, by its own keys or by what they make, nor push out those of others', async (t) => {
  const engine = await openStoreOf(newDataFolder(t));
  try {
    const byCommand = new ApiKeys(engine, 'cli');
    const holder = await byCommand.create(keyRequest({ name: 'holder' }));
    const kept = await byCommand.create(keyRequest({ name: 'kept' }));
    await byCommand.revoke(kept.key.id);
    let by: Actor = `key:${holder.key.id}`;
    let last: ApiKey | undefined;
    for (let n = 0; n < apiKeysOfHolderMax; n++) {
      const made = await new ApiKeys(engine, by).create(keyRequest({ name: `${n}` }));
      last = made.key;
      // Each third key makes the next ones.
      if (n % 3 === 0) by = `key:${last.id}`;
    }
    const more = () => new ApiKeys(engine, by).create(keyRequest({ name: 'more' }));
    await assert.rejects(more(), { code: 'invalid_request' });
    await byCommand.create(keyRequest({ name: 'by command' }));
    await new ApiKeys(engine, 'administrator:ada').create(keyRequest({ name: 'of another holder' }));
    await byCommand.revoke(last?.id ?? '');
    await more();
    const names = (await byCommand.list()).map(({ name }) => name);
    assert.ok(names.includes('kept'), 'an ended key of somebody else stays');
    assert.ok(!names.includes(`${apiKeysOfHolderMax - 1}`), 'its own ended key makes room');
  } finally {
    await engine.close();
  }
});

test('a chain of successors is never refused, and keeps its holder', () => {
  let key = { id: '0' } as ApiKey;
  for (let n = 1; n < 100; n++) {
    const creators = creatorsBy(`key:${key.id}`, [key]);
    assert.ok(creators.length <= apiKeyCreatorsMax);
    assert.equal(creators.at(-1), `key:${n - 1}`);
    assert.equal(firstHolder({ creators }), 'key:0');
    key = { id: `${n}`, creators } as ApiKey;
  }
});

test('what is created while its creator is revoked by name is revoked with the rest, or not created', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    admin: { scopes: ['admin'] },
    holder: { scopes: ['keys:write', 'tables:read'] },
  });
  const make = (n: number) =>
    service.post(path, { name: `made ${n}`, scopes: ['tables:read'] }, bearing(keys.holder));
  const holder = idWithin(keys.holder);
  const made = Array.from({ length: 12 }, (_, n) => make(n));
  await withKeys(service.data, async (store) => {
    await store.revoke(holder);
    await store.revokeCreatedBy(holder);
  });
  await Promise.all(made);
  assert.deepEqual(await withKeys(service.data, (store) => store.validCreatedBy(holder)), []);
});
