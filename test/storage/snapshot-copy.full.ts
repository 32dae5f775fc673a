import assert from 'node:assert/strict';
import { statSync, truncateSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { restPerWork, Throttle, throttledGrowthBytesMax } from '../../src/storage/lmdb/backup/make.ts';
import { copySnapshot } from '../../src/storage/lmdb/backup/snapshot-copy.ts';
import { databaseNames } from '../../src/storage/lmdb/file/databases.ts';
import { storeFile } from '../../src/storage/lmdb/open.ts';
import { openStore, openStoreToRead, type Store } from '../../src/storage/lmdb/store.ts';
import { newDataFolder } from '../support/service.ts';
import { StoreOpener } from '../support/storage/store-opener.ts';

const onLmdb = { skip: process.env.TEST_STORE === 'dynamodb' ? 'the embedded store only' : false };

test(
  'a copy has every value of one snapshot, byte by byte, whatever is written meanwhile',
  onLmdb,
  async (t) => {
    const { file, source } = fill(t);
    source.write(() => source.root.putSync('a-mark', '{"of":"continuous backup"}'));
    const before = await contentOf(file);
    assert.ok(before.some(({ name }) => name === 'leaves') && before.some(({ name }) => name === 'journal'));
    const to = join(dirname(file), 'copy.mdb');
    let steps = 0;
    const overwrite = () =>
      source.write(() => {
        steps++;
        source.root.putSync('a-mark', String(steps));
        for (const { key } of [...source.leaves.getStored({ start: '\x01', limit: 3 })])
          source.leaves.removeSync(key);
      });
    await copySnapshot(source, file, to, overwrite);
    assert.ok(steps > 1, 'something is written meanwhile');
    assert.deepEqual(await contentOf(to), before);
  },
);

test('a backup rests while others write, and not while nobody does or the file grows', onLmdb, async (t) => {
  const file = storeFile(newDataFolder(t));
  const source = openStore(file);
  t.after(() => source.close());
  const write = () => source.write(() => source.root.putSync('a-mark', String(performance.now())));
  const throttle = new Throttle(file);
  t.after(() => throttle.end());
  /** @returns whether the work is followed by a rest. A busy machine makes a rest longer, never shorter. */
  const rests = (workMs: number, during: () => void): boolean => {
    throttle.rest();
    const until = process.cpuUsage().user + workMs * 1_000;
    during();
    while (process.cpuUsage().user < until);
    const began = performance.now();
    throttle.rest();
    return performance.now() - began >= workMs * restPerWork;
  };
  assert.ok(rests(50, write));
  assert.ok(!rests(1_000, () => undefined), 'nobody has written');
  truncateSync(file, statSync(file).size + throttledGrowthBytesMax);
  assert.ok(!rests(1_000, write), 'the file has grown');
});

/** Some megabytes in leaves, records and the journal, which nobody compacts. */
function fill(t: TestContext): { readonly file: string; readonly source: Store } {
  const file = storeFile(newDataFolder(t));
  const opener = new StoreOpener(file);
  t.after(() => opener.close());
  let next = 0;
  const write = () =>
    opener.transact(() =>
      opener.committer.carryOut([
        Array.from({ length: 100 }, (_, n) => ({
          ...({ kind: 'create', space: n % 2 === 0 ? 'table:even' : 'table:ödd', makeSpace: true } as const),
          ...{ id: `id-${next++} "€"`, value: `${n}: ${'x'.repeat(n * 10)}` },
        })),
      ]),
    );
  for (let commits = 0; commits < 100; commits++) write();
  opener.compactAll();
  for (let commits = 0; commits < 20; commits++) write();
  return { file, source: opener.store };
}

async function contentOf(file: string) {
  const store = openStoreToRead(file);
  const stored = databaseNames.flatMap((name) => {
    const values =
      name === 'journal' ? store.journal.getStored({ start: 0 }) : store[name].getStored({ start: '\x01' });
    return Array.from(values as Iterable<{ key: string | number; value: Buffer }>, ({ key, value }) => ({
      ...{ name, key, value: value.toString('latin1') },
    }));
  });
  const isOwn = (key: string) => !(databaseNames as readonly string[]).includes(key);
  const root = [...store.root.getKeys()]
    .filter(isOwn)
    .map((key) => ({ name: 'root', key, value: store.root.get(key) }));
  await store.close();
  return [...stored, ...root];
}
