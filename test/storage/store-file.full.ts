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
import { givenUpMs } from '../support/busy-machine.ts';
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

/** Files that are not a store of this version: how they are created, and the expected error. */
const rejected: Readonly<
  Record<string, { make: (file: string, folder: string) => unknown; problem: RegExp }>
> = {
  'another program’s LMDB file': {
    make: (file) => makeLmdb(file, (root) => root.put('theirs', 'data')),
    problem: /is not a store of Counterfoil/,
  },
  'another program’s LMDB file with named databases': {
    make: (file) => makeLmdb(file, (root) => root.openDB({ name: 'theirs' }).put('a', 'data')),
    problem: /is not a store of Counterfoil/,
  },
  'a store of the previous format, which had no format entry': {
    make: (file) =>
      makeLmdb(file, (root) => {
        root.openDB({ name: 'spaces', encoding: 'string' }).put('table:kept', '{"count":1}');
        root.openDB({ name: 'items', encoding: 'string' }).put('table:kept\0a', 'Alpha');
      }),
    problem: /is not a store of Counterfoil|has a format/,
  },
  'a store of a newer version': {
    make: (file) => makeLmdb(file, (root) => root.put('counterfoil', '{"format":4,"id":"0a0b0c0d"}')),
    problem: /written by a newer version of Counterfoil \(format 4/,
  },
  'a store of an older version': {
    make: (file) => makeLmdb(file, (root) => root.put('counterfoil', '{"format":2,"id":"0a0b0c0d"}')),
    problem: /written by an older version of Counterfoil \(format 2; this one supports 3\); use that version/,
  },
  'a store whose description was altered': {
    make: (file) =>
      makeLmdb(file, (root) => root.put('counterfoil', '{"format":3,"id":"0a0b0c0d","checksum":1}')),
    problem: /the entry that describes it has a wrong checksum/,
  },
  'a store of a format without a number': {
    make: (file) => makeLmdb(file, (root) => root.put('counterfoil', '{"format":"x"}')),
    problem: /has a format that this version does not support/,
  },
  text: { make: (file) => writeFileSync(file, 'not a store\n'), problem: /is not a store of Counterfoil/ },
  'one byte': { make: (file) => writeFileSync(file, '\0'), problem: /is not a store of Counterfoil/ },
  'a page of zeroes': {
    make: (file) => writeFileSync(file, Buffer.alloc(pageBytes)),
    problem: /is not a store of Counterfoil/,
  },
  'random bytes': { make: (file) => writeFileSync(file, randomBytes(100_000)), problem: /is not a store/ },
  'another database’s file': {
    make: (file) =>
      writeFileSync(file, Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(20_000)])),
    problem: /is not a store of Counterfoil/,
  },
  'a store truncated within its first page': {
    make: (file, folder) => makeStore(folder).then(() => truncateSync(file, 200)),
    problem: /is not a store of Counterfoil, or is damaged|is damaged/,
  },
  'a store truncated to one page': {
    make: (file, folder) => makeStore(folder).then(() => truncateSync(file, pageBytes)),
    problem: /is damaged/,
  },
  'a store truncated to its two meta pages': {
    make: (file, folder) => makeStore(folder).then(() => truncateSync(file, 2 * pageBytes)),
    problem: /is damaged/,
  },
  'half a store': {
    make: (file, folder) =>
      makeStore(folder).then(() =>
        truncateSync(file, Math.floor(statSync(file).size / 2 / pageBytes) * pageBytes),
      ),
    problem: /is damaged/,
  },
  'a store truncated within a page': {
    make: (file, folder) =>
      makeStore(folder).then(() => truncateSync(file, Math.floor(statSync(file).size / 2) - 7)),
    problem: /is damaged/,
  },
};

for (const [title, { make, problem }] of Object.entries(rejected)) {
  test(`rejects ${title} with the cause, and does not change it`, async (t) => {
    const { folder, file } = newStoreFile(t);
    await make(file, folder);
    const before = hashOf(file);
    for (let time = 0; time < 2; time++) {
      assert.throws(
        () => openLmdbEngine(folder),
        (error) => error instanceof SettingsError && error.problems.some((line) => problem.test(line)),
      );
      // By then the failed open has closed the file.
      await sleep(20);
      assert.equal(hashOf(file), before);
    }
  });
}

function hashOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

test('rejects a store truncated before any used page, and opens one without only free pages', async (t) => {
  const { folder, file } = newStoreFile(t);
  await makeStore(folder);
  const pages = statSync(file).size / pageBytes;
  const verdicts: boolean[] = [];
  for (let left = 2; left <= pages; left++) {
    const cut = newStoreFile(t);
    copyFileSync(file, cut.file);
    truncateSync(cut.file, left * pageBytes);
    const isAccepted = await opens(cut.folder);
    verdicts.push(isAccepted);
    if (isAccepted) await assertHolds(cut.folder);
  }
  assert.equal(verdicts.at(-1), true);
  assert.deepEqual(verdicts, verdicts.toSorted(), 'every file from some length on is accepted');
  assert.ok(verdicts.filter((isAccepted) => !isAccepted).length > pages / 3);
});

test('rejects a store without the last pages of a value, wherever its parent pages are', async (t) => {
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
      // A read beyond the end of the file would crash the process.
      const opened = openStore(cut.file);
      assert.ok(opened.leaves.get('~')?.equals(value));
      await opened.close();
    }
  }
  await store.close();
});

/** A branch page in LMDB's layout whose only node points to the page itself. */
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
  'with pages that point to themselves': pageToItself,
})) {
  test(`rejects a truncated store that was overwritten ${title}`, async (t) => {
    const { folder, file } = newStoreFile(t);
    await makeStore(folder);
    const left = Math.floor(statSync(file).size / pageBytes) - 3;
    truncateSync(file, left * pageBytes);
    const descriptor = openSync(file, 'r+');
    for (let number = 2; number < left; number++)
      writeSync(descriptor, pageOf(number), 0, pageBytes, number * pageBytes);
    closeSync(descriptor);
    // In a process of its own, because following such pages may never end.
    const process = new EngineProcess(t, folder);
    const ending = await Promise.race([process.ended(), sleep(givenUpMs, 'hangs', { ref: false })]);
    assert.equal(ending, 1);
    assert.match(process.errors, /SettingsError.*is damaged/);
  });
}

test('opens a store whose last pages were allocated and freed in one transaction, and never written', async (t) => {
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
    statSync(file).size < pagesInMeta(file) * pageBytes,
    'the file is shorter than its meta page says',
  );
  await assertHolds(folder);
});

/** The number of pages according to the newer meta page. */
function pagesInMeta(file: string): number {
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
