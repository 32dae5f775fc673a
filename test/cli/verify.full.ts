import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { emptySortedRun, type SortedRun, startOf, textBytes } from '../../src/storage/lmdb/sorted-run.ts';
import { firstKey, openStore, type Store } from '../../src/storage/lmdb/store.ts';
import { verifyStore } from '../../src/storage/lmdb/verify.ts';
import { count } from '../support/extent.ts';
import { newDataFolder } from '../support/service.ts';

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');
const items = 2_000;

test('finds a store whole whose journal is not folded, and counts every item', async (t) => {
  const folder = newDataFolder(t);
  await fill(folder);
  assert.deepEqual(await verifyStore(storeFile(folder)), { items, problems: [] });
});

test('finds a store whole while writers go on', async (t) => {
  const folder = newDataFolder(t);
  await fill(folder);
  const engine = openLmdbEngine(folder);
  let isWriting = true;
  const writing = (async () => {
    for (let n = 0; isWriting; n++) {
      const id = `more-${n}`;
      await engine.commit([{ kind: 'create', space: 'table:books', id, value: 'x', makeSpace: true }]);
    }
  })();
  for (let round = 0; round < count({ short: 2, long: 5 }); round++) {
    // Another process, as an operator would: in one process the library reads within the writer's turns.
    assert.match(run(folder).stdout, /the store is whole/);
  }
  isWriting = false;
  await writing;
  await engine.close();
});

const damages: Readonly<Record<string, { damage: (store: Store) => void; told: RegExp }>> = {
  'a leaf that is missing': {
    damage: (store) => store.leaves.removeSync(secondLeaf(store).key),
    told: /table:books: its record has count 2000, its items 1\d{3}$/m,
  },
  'an offset that points elsewhere': {
    damage: (store) => change(store, (leaf) => leaf.writeUInt16LE(startOf(leaf, 3) + 1, textBytes(leaf) + 6)),
    told: /is not where its offset says/,
  },
  'offsets that do not grow': {
    damage: (store) => change(store, (leaf) => leaf.writeUInt16LE(0, textBytes(leaf) + 6)),
    told: /has a wrong offset at item 3/,
  },
  'text that is no JSON': {
    damage: (store) => change(store, (leaf) => leaf.fill('#', textBytes(leaf) - 1, textBytes(leaf))),
    told: /is not well-formed JSON/,
  },
  'an item that was changed in place': {
    damage: (store) => change(store, (leaf) => leaf.write('zzzz', leaf.indexOf('id-'))),
    told: /is out of order/,
  },
  'a leaf without items': {
    damage: (store) => store.leaves.putSync(secondLeaf(store).key, emptySortedRun),
    told: /is empty/,
  },
  'leaves of a space that nobody knows': {
    damage: (store) => store.leaves.putSync('table:ghost\x01', secondLeaf(store).run),
    told: /table:ghost: has leaves and no record/,
  },
  'a record that counts wrong': {
    damage: (store) => {
      const record = JSON.parse(store.records.get('table:books') as string) as { textBytes: number };
      store.records.putSync('table:books', JSON.stringify({ ...record, textBytes: record.textBytes + 1 }));
    },
    told: /its record has textBytes \d+, its items \d+/,
  },
};

for (const [name, { damage, told }] of Object.entries(damages)) {
  test(`tells ${name}`, async (t) => {
    const folder = newDataFolder(t);
    await fill(folder);
    await fold(folder);
    const store = openStore(storeFile(folder));
    store.write(() => damage(store));
    await store.close();
    const { problems } = await verifyStore(storeFile(folder));
    assert.match(problems.join('\n'), told);
  });
}

test('ends with 0 for a whole store, 1 for a damaged one, 2 where there is none', async (t) => {
  const folder = newDataFolder(t);
  const none = run(folder);
  assert.equal(none.status, 2);
  assert.match(none.stderr, /there is no store at/);
  await fill(folder);
  assert.deepEqual(run(folder), { status: 0, stdout: `${items} items: the store is whole\n`, stderr: '' });
  await fold(folder);
  const store = openStore(storeFile(folder));
  store.leaves.removeSync(secondLeaf(store).key);
  await store.close();
  const damaged = run(folder);
  assert.equal(damaged.status, 1);
  assert.match(damaged.stdout, /its record has count .*\n.*the store is damaged\n$/s);
});

function run(folder: string): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'verify'], {
    env: { COUNTERFOIL_DATA: folder },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

async function fill(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const engine = openLmdbEngine(folder);
  const creates = Array.from({ length: items }, (_, n) => {
    const id = `id-${String((n * 7919) % items).padStart(5, '0')}`;
    return engine.commit([
      { kind: 'create', space: 'table:books', id, value: `Name of ${id}`, makeSpace: true },
    ]);
  });
  await Promise.all(creates);
  await engine.close();
}

/** Until all changes are in the leaves, as an idle service does by itself. */
async function fold(folder: string): Promise<void> {
  const { Committer } = await import('../../src/storage/lmdb/committer.ts');
  const store = openStore(storeFile(folder));
  const committer = new Committer(store);
  store.write(() => committer.fold(Number.POSITIVE_INFINITY));
  await store.close();
}

function secondLeaf(store: Store): { readonly key: string; readonly run: SortedRun } {
  const leaves: { readonly key: string; readonly run: SortedRun }[] = [];
  for (const { key, value } of store.leaves.getRange({ start: firstKey, limit: 2 })) {
    leaves.push({ key, run: Buffer.from(value) });
  }
  assert.ok(leaves[1] !== undefined);
  return leaves[1];
}

function change(store: Store, damage: (leaf: SortedRun) => void): void {
  const { key, run } = secondLeaf(store);
  damage(run);
  store.leaves.putSync(key, run);
}
