import assert from 'node:assert/strict';
import { copyFileSync, cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { moveStore } from '../../src/app/offline.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { openStore, renewStoreId } from '../../src/storage/lmdb/store.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

const onLmdb = process.env.TEST_STORE === 'dynamodb' ? { skip: 'needs a local file' } : {};
const table = '/v3/table/books';

/** How a copy of the data is put back. @param backup a copy of the data folder */
const restores: Readonly<Record<string, (backup: string, data: string) => void>> = {
  'the file of the store, over the present one': (backup, data) =>
    copyFileSync(storeFile(backup), storeFile(data)),
  'the file of the store, after the present one was removed': (backup, data) => {
    rmSync(storeFile(data));
    copyFileSync(storeFile(backup), storeFile(data));
  },
  'the whole folder, after the present one was removed': (backup, data) => {
    rmSync(data, { recursive: true });
    cpSync(backup, data, { recursive: true });
  },
};

for (const [what, restore] of Object.entries(restores)) {
  test(`no ETag names other content after a restore of ${what}`, onLmdb, async (t) => {
    const data = await withItem(t);
    const backup = `${data}-backup`;
    cpSync(data, backup, { recursive: true });
    const lost = await changed(t, data, 'lost');
    restore(backup, data);
    const present = await changed(t, data, 'present');
    assert.notEqual(present.tag, lost.tag);
    const service = await startTestService(t, { data });
    const read = await service.get(`${table}/read`, { 'if-none-match': lost.tag });
    assert.deepEqual(
      [read.status, read.json?.body.map(({ id }: { id: string }) => id)],
      [200, ['a', 'present']],
    );
    assert.equal(read.headers.get('etag'), present.tag, 'the tag survives a restart after the restore');
  });
}

test('a store gets a new id on request', onLmdb, async (t) => {
  const data = await withItem(t);
  const file = storeFile(data);
  const before = await idOf(file);
  assert.equal(await idOf(file), before);
  await renewStoreId(file);
  assert.notEqual(await idOf(file), before);
  const service = await startTestService(t, { data });
  assert.match(
    (await service.get(`${table}/read`)).headers.get('etag') ?? '',
    new RegExp(`^"${await idOf(file)}-`),
  );
});

test('`store copy` gives its target a new id', onLmdb, async (t) => {
  const data = await withItem(t);
  const target = `${data}-target`;
  await openLmdbEngine(target).close();
  const before = await idOf(storeFile(target));
  const env = { COUNTERFOIL_DATA: data };
  const settings = loadSettings({ env, file: '/nonexistent/counterfoil.json', simulate: false });
  const place = (folder: string) => ({ kind: 'lmdb', folder }) as const;
  const { differences } = await moveStore(settings, { from: place(data), to: place(target) });
  assert.deepEqual(differences, []);
  const ids = [before, await idOf(storeFile(data)), await idOf(storeFile(target))];
  assert.equal(new Set(ids).size, 3);
});

test(
  'no service starts where a restore was interrupted: it would make an empty store, with payments open',
  onLmdb,
  async (t) => {
    const data = newDataFolder(t);
    mkdirSync(join(data, 'restoring'), { recursive: true });
    assert.throws(() => openLmdbEngine(data), /was interrupted: run counterfoil restore again, or remove /);
    assert.deepEqual(readdirSync(data), ['restoring']);
  },
);

/** The data folder of a stopped service. */
async function withItem(t: TestContext): Promise<string> {
  const service = await startTestService(t);
  await service.post(`${table}/create`, { id: 'a', name: '' });
  await service.stop();
  return service.data;
}

/** Adds an item in a service that is stopped afterwards. */
async function changed(t: TestContext, data: string, id: string): Promise<{ readonly tag: string }> {
  const service = await startTestService(t, { data });
  assert.equal((await service.post(`${table}/create`, { id, name: '' })).status, 200);
  const tag = (await service.get(`${table}/read`)).headers.get('etag') as string;
  await service.stop();
  return { tag };
}

async function idOf(file: string): Promise<string> {
  const store = openStore(file);
  const { id } = store.format;
  await store.close();
  return id;
}
