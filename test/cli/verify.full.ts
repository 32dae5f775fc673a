import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sealed } from '../../src/storage/lmdb/file/checked-database.ts';
import { firstKey } from '../../src/storage/lmdb/file/databases.ts';
import {
  emptySortedRun,
  itemStart,
  type SortedRun,
  textBytes,
} from '../../src/storage/lmdb/file/sorted-run.ts';
import { verifyStore } from '../../src/storage/lmdb/file/verify.ts';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { openStore, type Store } from '../../src/storage/lmdb/store.ts';
import { count } from '../support/extent.ts';
import { newDataFolder } from '../support/service.ts';

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');
const items = 2_000;
const atOnce = 2_000;

test('reports no problem for a store whose journal is not compacted, and counts every item', async (t) => {
  const folder = newDataFolder(t);
  await fill(folder);
  assert.deepEqual(await verifyStore(storeFile(folder)), { items, problems: [] });
});

test('reports no problem while another process writes', async (t) => {
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
    // Runs in another process, as an operator would: within one process LMDB reads between the writer's commits.
    assert.match(run(folder).stdout, /the store is whole/);
  }
  isWriting = false;
  await writing;
  await engine.close();
});

test('holds no snapshot for the whole run, so that the service can use old pages again', async (t) => {
  const folder = newDataFolder(t);
  await fill(folder, manyItems, 400);
  await compact(folder);
  const store = openStore(storeFile(folder));
  t.after(() => store.close());
  const snapshots = new Set<string>();
  const own = new RegExp(`^\\s*${process.pid} \\S+ (\\d+)`, 'm');
  const { problems } = await verifyStore(storeFile(folder), () => {
    const number = own.exec(store.root.readerList())?.[1];
    if (number !== undefined) snapshots.add(number);
    writeAnything(store);
  });
  assert.deepEqual(problems, []);
  assert.ok(snapshots.size > 5, `${snapshots.size} snapshots`);
});

test('reports a missing leaf of a store that is written meanwhile', async (t) => {
  const folder = newDataFolder(t);
  await fill(folder, manyItems, 400);
  await compact(folder);
  const store = openStore(storeFile(folder));
  t.after(() => store.close());
  store.write(() => store.leaves.removeSync(secondLeaf(store).key));
  const { problems } = await verifyStore(storeFile(folder), () => writeAnything(store));
  assert.equal(problems.length, 2);
  assert.match(problems.join('\n'), /its record has count \d+, its items \d+\n.*its record has textBytes/);
});

/** Several pages of a verification. */
const manyItems = 40_000;

/** A commit that belongs to no space. */
function writeAnything(store: Store): void {
  store.write(() => store.root.putSync('written by a test', String(performance.now())));
}

const damages: Readonly<Record<string, { damage: (store: Store) => void; problem: RegExp }>> = {
  'a leaf that is missing': {
    damage: (store) => store.leaves.removeSync(secondLeaf(store).key),
    problem: /table:books: its record has count 2000, its items 1\d{3}$/m,
  },
  'an offset that points elsewhere': {
    damage: (store) =>
      change(store, (leaf) => leaf.writeUInt16LE(itemStart(leaf, 3) + 1, textBytes(leaf) + 6)),
    problem: /is not where its offset says/,
  },
  'offsets that do not grow': {
    damage: (store) => change(store, (leaf) => leaf.writeUInt16LE(0, textBytes(leaf) + 6)),
    problem: /has a wrong offset at item 3/,
  },
  'text that is not JSON': {
    damage: (store) => change(store, (leaf) => leaf.fill('#', textBytes(leaf) - 1, textBytes(leaf))),
    problem: /is not well-formed JSON/,
  },
  'an item that was changed in place': {
    damage: (store) => change(store, (leaf) => leaf.write('zzzz', leaf.indexOf('id-'))),
    problem: /is out of order/,
  },
  'a byte that is not UTF-8': {
    damage: (store) => change(store, (leaf) => leaf.writeUInt8(0xff, leaf.indexOf('Name of') + 1)),
    problem: /table:books: the leaf up to "[^"]+" is not UTF-8/,
  },
  'a name that is no string': {
    damage: (store) => change(store, (leaf) => leaf.write('1'.repeat(18), leaf.indexOf('"Name of'))),
    problem: /item 0 is no item/,
  },
  'a byte in the journal that is not UTF-8': {
    damage: (store) => {
      const journal = store.root.openDB<Buffer, Buffer>({
        name: 'journal',
        keyEncoding: 'binary',
        encoding: 'binary',
      });
      const entry = Buffer.from('{"first":1,"spaces":[["table:books",2001,1,["id","\xff"]]]}', 'latin1');
      journal.putSync(Buffer.from([0x7f, 0, 0, 0, 0, 0]), sealed(0x7f_00_00_00_00_00, entry));
    },
    problem: /the journal: commit \d+ is not UTF-8/,
  },
  'an entry of the journal that is not JSON': {
    damage: (store) => store.journal.putSync(2 ** 40, '{"first":1'),
    problem: /the journal: commit \d+ is not well-formed/,
  },
  'a record that is not JSON': {
    damage: (store) => store.records.putSync('table:books', '{"count"'),
    problem: /table:books: its record is not well-formed/,
  },
  'a leaf without items': {
    damage: (store) => store.leaves.putSync(secondLeaf(store).key, emptySortedRun),
    problem: /is empty/,
  },
  'leaves of a space without a record': {
    damage: (store) => store.leaves.putSync('table:ghost\x01', secondLeaf(store).run),
    problem: /table:ghost: has leaves and no record/,
  },
  'a record that counts wrong': {
    damage: (store) => {
      const record = JSON.parse(store.records.get('table:books') as string) as { textBytes: number };
      store.records.putSync('table:books', JSON.stringify({ ...record, textBytes: record.textBytes + 1 }));
    },
    problem: /its record has textBytes \d+, its items \d+/,
  },
};

for (const [name, { damage, problem }] of Object.entries(damages)) {
  test(`reports ${name}`, async (t) => {
    const folder = newDataFolder(t);
    await fill(folder);
    await compact(folder);
    const store = openStore(storeFile(folder));
    store.write(() => damage(store));
    await store.close();
    const { problems } = await verifyStore(storeFile(folder));
    assert.match(problems.join('\n'), problem);
  });
}

test('exits with 0 for an intact store, 1 for a damaged one, 2 when there is none', async (t) => {
  const folder = newDataFolder(t);
  const none = run(folder);
  assert.equal(none.status, 2);
  assert.match(none.stderr, /there is no store at/);
  await fill(folder);
  assert.deepEqual(run(folder), { status: 0, stdout: `${items} items: the store is whole\n`, stderr: '' });
  await compact(folder);
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

async function fill(folder: string, items = 2_000, nameLength = 0): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const engine = openLmdbEngine(folder);
  for (let begun = 0; begun < items; begun += atOnce) {
    const creates = Array.from({ length: atOnce }, (_, n) => {
      const id = `id-${String(((begun + n) * 7919) % items).padStart(5, '0')}`;
      return engine.commit([
        {
          kind: 'create',
          space: 'table:books',
          id,
          value: `Name of ${id}`.padEnd(nameLength),
          makeSpace: true,
        },
      ]);
    });
    await Promise.all(creates);
  }
  await engine.close();
}

/** Compacts the journal into the leaves, as an idle service does. */
async function compact(folder: string): Promise<void> {
  const { Committer } = await import('../../src/storage/lmdb/log/committer.ts');
  const store = openStore(storeFile(folder));
  const committer = new Committer(store);
  store.write(() => committer.compactIdle(Number.POSITIVE_INFINITY));
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
