import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { open as openLmdb } from 'lmdb';
import { SettingsError } from '../../src/errors.ts';
import type { Space } from '../../src/storage/engine.ts';
import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import { openStore } from '../../src/storage/lmdb/store.ts';
import { newDataFolder } from '../support/service.ts';
import { EngineProcess } from '../support/storage/engine-process.ts';
import { untilAtRest } from '../support/storage/rest.ts';

const space: Space = 'table:kept';
const pageBytes = 4096;

function newStoreFile(t: TestContext): { readonly folder: string; readonly file: string } {
  const folder = newDataFolder(t);
  mkdirSync(folder, { recursive: true });
  return { folder, file: join(folder, 'store.mdb') };
}

async function makeStore(folder: string): Promise<void> {
  const engine = openLmdbEngine(folder);
  for (let n = 0; n < 40; n++) {
    const value = `${n}`.padEnd(n % 10 === 0 ? 100_000 : 500);
    await engine.commit([{ kind: 'create', space, id: `item-${n}`, value, makeSpace: true }]);
  }
  await untilAtRest(join(folder, 'store.mdb'));
  await engine.close();
}

async function makeLmdb(file: string, fill: (root: ReturnType<typeof openLmdb>) => unknown): Promise<void> {
  const root = openLmdb({ path: file, overlappingSync: false, maxDbs: 4, encoding: 'string' });
  await root.transaction(() => fill(root));
  await root.close();
}

/** Files that are no store of this version: how they are made, and what must be said of them. */
const rejected: Readonly<Record<string, { make: (file: string, folder: string) => unknown; said: RegExp }>> =
  {
    'somebody else’s LMDB file': {
      make: (file) => makeLmdb(file, (root) => root.put('theirs', 'data')),
      said: /is not a store of Counterfoil/,
    },
    'somebody else’s LMDB file with named databases': {
      make: (file) => makeLmdb(file, (root) => root.openDB({ name: 'theirs' }).put('a', 'data')),
      said: /is not a store of Counterfoil/,
    },
    'a store of the format before, which had no entry that said so': {
      make: (file) =>
        makeLmdb(file, (root) => {
          root.openDB({ name: 'spaces', encoding: 'string' }).put('table:kept', '{"count":1}');
          root.openDB({ name: 'items', encoding: 'string' }).put('table:kept\0a', 'Alpha');
        }),
      said: /is not a store of Counterfoil|has a format/,
    },
    'a store of a newer version': {
      make: (file) => makeLmdb(file, (root) => root.put('counterfoil', '{"format":3,"id":"0a0b0c0d"}')),
      said: /written by a newer version of Counterfoil \(format 3/,
    },
    'a store of a format without a number': {
      make: (file) => makeLmdb(file, (root) => root.put('counterfoil', '{"format":"x"}')),
      said: /has a format that this version does not support/,
    },
    text: { make: (file) => writeFileSync(file, 'not a store\n'), said: /is not a store of Counterfoil/ },
    'one byte': { make: (file) => writeFileSync(file, '\0'), said: /is not a store of Counterfoil/ },
    'a page of zeroes': {
      make: (file) => writeFileSync(file, Buffer.alloc(pageBytes)),
      said: /is not a store of Counterfoil/,
    },
    'random bytes': { make: (file) => writeFileSync(file, randomBytes(100_000)), said: /is not a store/ },
    'another database’s file': {
      make: (file) =>
        writeFileSync(file, Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(20_000)])),
      said: /is not a store of Counterfoil/,
    },
    'a store cut off in its first page': {
      make: (file, folder) => makeStore(folder).then(() => truncateSync(file, 200)),
      said: /is not a store of Counterfoil, or is damaged|is damaged/,
    },
    'a store of which one page is left': {
      make: (file, folder) => makeStore(folder).then(() => truncateSync(file, pageBytes)),
      said: /is damaged/,
    },
    'a store of which the two meta pages are left': {
      make: (file, folder) => makeStore(folder).then(() => truncateSync(file, 2 * pageBytes)),
      said: /is damaged/,
    },
    'half a store': {
      make: (file, folder) =>
        makeStore(folder).then(() =>
          truncateSync(file, Math.floor(statSync(file).size / 2 / pageBytes) * pageBytes),
        ),
      said: /is damaged/,
    },
    'a store cut off within a page': {
      make: (file, folder) =>
        makeStore(folder).then(() => truncateSync(file, Math.floor(statSync(file).size / 2) - 7)),
      said: /is damaged/,
    },
  };

for (const [title, { make, said }] of Object.entries(rejected)) {
  test(`refuses ${title}, says so, and leaves it as it is`, async (t) => {
    const { folder, file } = newStoreFile(t);
    await make(file, folder);
    const before = hashOf(file);
    for (let time = 0; time < 2; time++) {
      assert.throws(
        () => openLmdbEngine(folder),
        (error) => error instanceof SettingsError && error.problems.some((problem) => said.test(problem)),
      );
      // What it has begun to close is closed by then.
      await sleep(20);
      assert.equal(hashOf(file), before);
    }
  });
}

function hashOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

test('refuses a store cut off at any page that is in use, and opens one that lacks only free ones', async (t) => {
  const { folder, file } = newStoreFile(t);
  await makeStore(folder);
  const pages = statSync(file).size / pageBytes;
  const verdicts: boolean[] = [];
  for (let left = 2; left <= pages; left++) {
    const cut = newStoreFile(t);
    copyFileSync(file, cut.file);
    truncateSync(cut.file, left * pageBytes);
    const isTaken = await opens(cut.folder);
    verdicts.push(isTaken);
    if (isTaken) await assertHolds(cut.folder);
  }
  assert.equal(verdicts.at(-1), true);
  assert.deepEqual(verdicts, verdicts.toSorted(), 'from some length on every file is taken');
  assert.ok(verdicts.filter((isTaken) => !isTaken).length > pages / 3);
});

test('refuses a store that lacks the last pages of a value, wherever what leads to it has moved', async (t) => {
  const { folder, file } = newStoreFile(t);
  await makeStore(folder);
  const value = Buffer.alloc(100 * pageBytes, 1);
  const store = openStore(file);
  store.write(() => store.leaves.putSync('~', value));
  for (let n = 0; n < 12; n++) {
    store.write(() => store.leaves.putSync('~~', Buffer.alloc(n)));
    for (const pagesCut of [1, 2, 3]) {
      const cut = newStoreFile(t);
      copyFileSync(file, cut.file);
      truncateSync(cut.file, statSync(file).size - pagesCut * pageBytes);
      if (!(await opens(cut.folder))) continue;
      // Reading what the file does not have ends the process.
      const taken = openStore(cut.file);
      assert.ok(taken.leaves.get('~')?.equals(value));
      await taken.close();
    }
  }
  await store.close();
});

/** A branch page whose only node leads to the page itself, in the places where LMDB has them. */
function pageToItself(number: number): Buffer {
  const page = Buffer.alloc(pageBytes);
  page.writeUInt16LE(1, 18);
  page.writeUInt16LE(2, 20);
  page.writeUInt16LE(100, 24);
  page.writeUInt32LE(number, 24 + 100);
  return page;
}

for (const [title, pageOf] of Object.entries<(number: number) => Buffer>({
  'with text': () => Buffer.alloc(pageBytes, '{"id":"'),
  'with random bytes': () => randomBytes(pageBytes),
  'with pages that lead to themselves': pageToItself,
})) {
  test(`refuses a store that is cut off and was overwritten ${title}`, async (t) => {
    const { folder, file } = newStoreFile(t);
    await makeStore(folder);
    const left = Math.floor(statSync(file).size / pageBytes) - 3;
    truncateSync(file, left * pageBytes);
    const descriptor = openSync(file, 'r+');
    for (let number = 2; number < left; number++)
      writeSync(descriptor, pageOf(number), 0, pageBytes, number * pageBytes);
    closeSync(descriptor);
    // In a process of its own, for whoever follows such pages may never come back.
    const process = new EngineProcess(t, folder);
    const ending = await Promise.race([process.ended(), sleep(10_000, 'hangs', { ref: false })]);
    assert.equal(ending, 1);
    assert.match(process.errors, /SettingsError.*is damaged/);
  });
}

test('opens a store whose last pages were taken and freed again by one transaction, and so never written', async (t) => {
  const { folder, file } = newStoreFile(t);
  await makeStore(folder);
  const store = openStore(file);
  store.write(() => {
    store.leaves.putSync('~', Buffer.alloc(1_000_000));
    store.leaves.removeSync('~');
    store.records.putSync('~', '{}');
    store.records.removeSync('~');
  });
  await store.close();
  assert.ok(
    statSync(file).size < pagesSaid(file) * pageBytes,
    'the file is as short as the test means it to be',
  );
  await assertHolds(folder);
});

/** As the newer of the two meta pages says. */
function pagesSaid(file: string): number {
  const descriptor = openSync(file, 'r');
  const metas = [Buffer.alloc(pageBytes), Buffer.alloc(pageBytes)] as const;
  for (const [n, meta] of metas.entries()) readSync(descriptor, meta, 0, pageBytes, n * pageBytes);
  closeSync(descriptor);
  const [older, newer] = metas.toSorted((a, b) => Number(a.readBigUInt64LE(152) - b.readBigUInt64LE(152)));
  assert.ok(older !== newer);
  return Number((newer as Buffer).readBigUInt64LE(144)) + 1;
}

async function opens(folder: string): Promise<boolean> {
  try {
    await openLmdbEngine(folder).close();
    return true;
  } catch (error) {
    assert.ok(error instanceof SettingsError, String(error));
    return false;
  }
}

async function assertHolds(folder: string): Promise<void> {
  const engine = openLmdbEngine(folder);
  for (let n = 0; n < 40; n++) assert.equal((await engine.get(space, `item-${n}`))?.trimEnd(), `${n}`);
  const scan = await engine.scan(space);
  assert.equal(
    (await Array.fromAsync(scan?.chunks ?? [], ({ length }) => length)).reduce((a, b) => a + b),
    scan?.textBytes,
  );
  await engine.close();
}
