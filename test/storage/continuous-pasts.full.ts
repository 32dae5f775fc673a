import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readRecord, recordBytes } from '../../src/backup/small-files.ts';
import { makeBackup } from '../../src/storage/lmdb/backup/make.ts';
import { ContinuousStore, restoredItems } from '../support/backup/continuous-store.ts';
import { newDataFolder } from '../support/service.ts';

/** The commits of a store that was set back have the numbers of others, which the target may still have. */

test('a store that was set back with the whole machine begins another chain', async (t) => {
  const data = newDataFolder(t);
  let store = await ContinuousStore.open(data);
  await store.archiver.round();
  await makeBackup(store.file, store.target);
  await store.close();
  const earlier = readFileSync(store.file);
  store = await ContinuousStore.open(data);
  await store.create('of another past');
  await store.archiver.round();
  await store.close();
  // As the restore of a virtual machine does: the same file has its earlier content again.
  writeFileSync(store.file, earlier);
  rmSync(`${store.file}-probe`);
  store = await ContinuousStore.open(data);
  t.after(() => store.close());
  await store.create('now');
  assert.match((await store.archiver.round()).begun ?? '', /set back/);
  await makeBackup(store.file, store.target);
  await store.create('later');
  await store.archiver.round();
  const found = await restoredItems(store.target, newDataFolder(t));
  assert.deepEqual([...found.keys()], ['later', 'now']);
});

test('a store that was set back, with no segment left in front of it, does not mix two pasts', async (t) => {
  const data = newDataFolder(t);
  let store = await ContinuousStore.open(data);
  await store.archiver.round();
  await makeBackup(store.file, store.target);
  await store.create('base');
  await store.archiver.round();
  await store.close();
  const earlier = readFileSync(store.file);
  store = await ContinuousStore.open(data);
  for (const id of ['old-1', 'old-2', 'old-3']) await store.create(id);
  await store.archiver.round();
  // It deletes the segments, which it contains.
  await makeBackup(store.file, store.target, { keep: 1 });
  await store.close();
  writeFileSync(store.file, earlier);
  rmSync(`${store.file}-probe`);
  store = await ContinuousStore.open(data);
  t.after(() => store.close());
  assert.match((await store.archiver.round()).begun ?? '', /set back/);
  for (const id of ['new-1', 'new-2', 'new-3', 'new-4']) {
    await store.create(id);
    await store.archiver.round();
  }
  await assert.rejects(
    restoredItems(store.target, newDataFolder(t)),
    /the first backup of their chain is missing|had sent/,
  );
  const before = await restoredItems(store.target, newDataFolder(t), { acceptsMissing: true });
  assert.ok(
    [...before.keys()].every((id) => !id.startsWith('new')),
    'the backup of the other past, alone',
  );
  await makeBackup(store.file, store.target);
  const found = await restoredItems(store.target, newDataFolder(t));
  assert.deepEqual([...found.keys()], ['base', 'new-1', 'new-2', 'new-3', 'new-4']);
});

test('a segment of another past does not continue a backup, even if its commits have the right numbers', async (t) => {
  const store = await ContinuousStore.open(newDataFolder(t));
  t.after(() => store.close());
  await store.archiver.round();
  await store.create('in the backup');
  await makeBackup(store.file, store.target);
  await store.create('later');
  await store.archiver.round();
  const manifest = readdirSync(store.target.name).find((name) => /^counterfoil-2.*json$/.test(name));
  const path = join(store.target.name, manifest ?? assert.fail());
  const fields = readRecord(readFileSync(path)) ?? assert.fail();
  assert.match(String(fields.chain_checksum), /^[0-9a-f]{64}$/);
  writeFileSync(path, recordBytes({ ...fields, chain_checksum: '1'.repeat(64) }));
  await assert.rejects(restoredItems(store.target, newDataFolder(t)), /does not continue what is before it/);
});
