import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { open } from 'lmdb';
import { DamagedStoreError, SettingsError } from '../../src/errors.ts';
import type { Engine, Space } from '../../src/storage/engine.ts';
import { verifyStore } from '../../src/storage/lmdb/file/verify.ts';
import { upgradedLeavesPerStep } from '../../src/storage/lmdb/limits.ts';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { openStore, openStoreToRead } from '../../src/storage/lmdb/store.ts';
import { runCommand } from '../support/command.ts';
import { newDataFolder } from '../support/service.ts';
import { EngineProcess } from '../support/storage/engine-process.ts';
import { type Change, type Content, makeStoreOfFormat2 } from '../support/storage/store-of-format-2.ts';

const child = join(import.meta.dirname, '../support/storage/upgrade-child.ts');
const words = ['', 'Ä', '"quoted"\n', '\\', '\u{1f600}', 'x'.repeat(400)];

const leaves: Content = {
  'table:books': items(70),
  // More leaves than one step of the upgrade.
  'table:many': items(20 * upgradedLeavesPerStep + 100),
  'table:none': [],
  'service:payments': [{ id: 'pay_1', name: '{"state":"succeeded"}' }],
};
const changes: readonly Change[] = [
  { space: 'table:books', id: 'id-00003', name: 'changed' },
  { space: 'table:books', id: 'id-00004', name: undefined },
  { space: 'table:new', id: 'only here', name: '\u{1f600}' },
  { space: 'service:payments', id: 'pay_2', name: '{"state":"declined"}' },
];

function items(count: number): { id: string; name: string }[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `id-${String(n).padStart(5, '0')}`,
    name: `${words[n % words.length]}`,
  }));
}

test('a store of format 2 opens, has every item, and then has checksums', async (t) => {
  const folder = newDataFolder(t);
  const content = await makeStoreOfFormat2(folder, leaves, changes);
  await assertHas(folder, content);
  await assertIsUpgraded(folder);
});

test('a store of format 2 is verified, and not changed by it', async (t) => {
  const folder = newDataFolder(t);
  const content = await makeStoreOfFormat2(folder, leaves, changes);
  const before = hashOf(folder);
  const { items, problems } = await verifyStore(storeFile(folder));
  assert.deepEqual(problems, []);
  assert.equal(items, Object.values(content).flat().length);
  assert.equal(hashOf(folder), before);
});

test('a backup of a store of format 2 is restored, and upgraded', async (t) => {
  const folder = newDataFolder(t);
  const small = { ...leaves, 'table:many': items(50) };
  const content = await makeStoreOfFormat2(folder, small, changes);
  const run = async (data: string, ...args: string[]) => {
    const { status, errors } = await runCommand(args, { COUNTERFOIL_DATA: data });
    assert.equal(status, 0, errors);
  };
  await run(folder, 'backup', `${folder}-backups`);
  await run(`${folder}-restored`, 'restore', `${folder}-backups`);
  await assertIsUpgraded(`${folder}-restored`);
  await assertHas(`${folder}-restored`, content);
});

test('an upgrade that is killed after any step goes on at the next start', async (t) => {
  const source = newDataFolder(t);
  const content = await makeStoreOfFormat2(source, leaves, changes);
  let kills = 0;
  for (let step = 0; ; step++) {
    const folder = copyOf(t, source);
    const { signal, status, stderr } = spawnSync(process.execPath, [child, storeFile(folder), `${step}`], {
      encoding: 'utf8',
    });
    assert.ok(signal === 'SIGKILL' || status === 0, stderr);
    if (signal === 'SIGKILL') kills++;
    await assertHas(folder, content);
    await assertIsUpgraded(folder);
    if (status === 0) break;
  }
  assert.ok(kills >= 5, `${kills} kills`);
});

test('a store that was upgraded halfway is neither read nor verified as it is', async (t) => {
  const folder = newDataFolder(t);
  await makeStoreOfFormat2(folder, leaves, changes);
  spawnSync(process.execPath, [child, storeFile(folder), '2']);
  const message = /upgraded halfway: start the service, which completes it/;
  assert.throws(() => openStoreToRead(storeFile(folder)), message);
  await assert.rejects(verifyStore(storeFile(folder)), message);
});

test('a damaged store of format 2 is not upgraded, so that no damage gets a right checksum', async (t) => {
  const folder = newDataFolder(t);
  await makeStoreOfFormat2(folder, leaves, changes);
  const root = open<Buffer, Buffer>({ path: storeFile(folder), overlappingSync: false, maxDbs: 4 });
  const runs = root.openDB<Buffer, Buffer>({ name: 'leaves', keyEncoding: 'binary', encoding: 'binary' });
  const key = Buffer.from('table:books\x01');
  const run = Buffer.from(runs.get(key) as Buffer);
  run[run.indexOf('"name":"') + 8] = 0xff;
  await runs.put(key, run);
  await root.close();
  const before = hashOf(folder);
  assert.throws(
    () => openLmdbEngine(folder),
    (error) =>
      error instanceof DamagedStoreError &&
      /table:books: the leaf .* is not UTF-8; the store was not upgraded/.test(error.message),
  );
  assert.equal(hashOf(folder), before);
});

test('a store that another process has open is not upgraded', async (t) => {
  const folder = newDataFolder(t);
  await makeStoreOfFormat2(folder, { 'table:books': items(3) }, []);
  const other = spawnSync(process.execPath, [
    join(import.meta.dirname, '../support/storage/old-reader.ts'),
    folder,
  ]);
  assert.equal(other.status, 0, String(other.stderr));
  assert.match(String(other.stdout), /must be upgraded, and process \d+ has it open; stop it first/);
});

test('an older service rejects an upgraded store by its format', async (t) => {
  const folder = newDataFolder(t);
  await makeStoreOfFormat2(folder, leaves, changes);
  for (const steps of ['1', '2', '100']) {
    const copy = copyOf(t, folder);
    spawnSync(process.execPath, [child, storeFile(copy), steps]);
    // As the service of format 2 does it.
    const root = open<string, string>({ path: storeFile(copy), maxDbs: 4, encoding: 'string' });
    const { format } = JSON.parse(root.get('counterfoil') as string) as { format: unknown };
    await root.close();
    assert.equal(format, 3);
  }
});

test('several processes that open an old store at once upgrade it once', async (t) => {
  const folder = newDataFolder(t);
  const content = await makeStoreOfFormat2(folder, leaves, changes);
  const engines = Array.from({ length: 3 }, () => new EngineProcess(t, folder));
  const opened = await Promise.allSettled(engines.map((engine) => engine.opened));
  for (const [index, engine] of engines.entries()) {
    if (opened[index]?.status === 'rejected') throw new Error(engine.errors);
    assert.equal((await engine.describe('table:many'))?.count, content['table:many']?.length);
  }
});

function copyOf(t: TestContext, source: string): string {
  const folder = newDataFolder(t);
  mkdirSync(folder, { recursive: true });
  copyFileSync(storeFile(source), storeFile(folder));
  return folder;
}

function hashOf(folder: string): string {
  return createHash('sha256')
    .update(readFileSync(storeFile(folder)))
    .digest('hex');
}

async function assertHas(folder: string, content: Content): Promise<void> {
  const engine = openLmdbEngine(folder);
  try {
    for (const [space, items] of Object.entries(content))
      assert.deepEqual(await itemsOf(engine, space as Space), items, space);
  } finally {
    await engine.close();
  }
}

async function itemsOf(engine: Engine, space: Space): Promise<unknown> {
  const scan = await engine.scan(space);
  const texts: string[] = [];
  for await (const chunk of scan?.chunks ?? []) texts.push(chunk.toString());
  return JSON.parse(`[${texts.join('')}]`);
}

async function assertIsUpgraded(folder: string): Promise<void> {
  const store = openStore(storeFile(folder));
  try {
    assert.equal(store.format.format, 3);
    for (const database of [store.leaves, store.records])
      for (const { key, isIntact } of database.inspect({ start: '\x01' })) assert.ok(isIntact, key);
    for (const { key, isIntact } of store.journal.inspect({ start: 0 })) assert.ok(isIntact, String(key));
  } catch (error) {
    throw error instanceof SettingsError ? new assert.AssertionError({ message: error.message }) : error;
  } finally {
    await store.close();
  }
  assert.deepEqual((await verifyStore(storeFile(folder))).problems, []);
}
