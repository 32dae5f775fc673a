import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import type { Space, Write } from '../../src/storage/engine.ts';
import { journalChangesMax, journalSizeMax } from '../../src/storage/lmdb/limits.ts';
import { Memtable } from '../../src/storage/lmdb/log/memtable.ts';
import { count } from '../support/extent.ts';
import { seedOf } from '../support/random.ts';
import { newDataFolder } from '../support/service.ts';
import { assertCompacted } from '../support/storage/leaf-walk.ts';
import { StoreOpener } from '../support/storage/store-opener.ts';

const program = join(import.meta.dirname, '../support/storage/drill-sequences.ts');
const hotIds = Array.from({ length: 50 }, (_, index) => `hot-${index}`);
const sequencesAtOnce = 500;
const sequences = count({ short: 80, long: 10_000 });

test('holds the same items as a map after any sequence of writes, compactions, restarts and failures', async (t) => {
  const first = seedOf(t);
  for (let n = 0; n < sequences; n += sequencesAtOnce) {
    const values = [program, `${(first + n) >>> 0}`, `${Math.min(sequencesAtOnce, sequences - n)}`];
    await promisify(execFile)(process.execPath, values);
  }
});

test('sees the next commits after another process has compacted everything', async (t) => {
  const file = newFile(t);
  const [first, second] = [new StoreOpener(file), new StoreOpener(file)];
  const commit = ({ committer, transact }: StoreOpener, id: string) =>
    transact(() => committer.carryOut([[create('table:a', id)]]));
  for (let n = 0; n < 5; n++) {
    // Both have something to compact, and the second one finds it compacted.
    for (const opener of [first, second]) commit(opener, `of ${opener === first} ${n}`);
    for (const { committer, transact } of [first, second]) transact(() => committer.compactIdle(1_000));
    assert.deepEqual(commit(first, `${n}`), [undefined]);
    assert.deepEqual(commit(second, `${n}`), [{ write: 0, reason: 'exists' }]);
    assert.equal(second.reader.describe('table:a')?.count, 3 * (n + 1));
  }
  for (const opener of [first, second]) await opener.close();
});

test('finds a space with uncompacted changes among many other spaces', async (t) => {
  const opener = new StoreOpener(newFile(t));
  const { committer, transact } = opener;
  const spaces = Array.from({ length: 12_000 }, (_, n): Space => `table:${n}`);
  const commit = (writes: readonly Write[]) =>
    transact(() => committer.carryOut(writes.map((write) => [write])));
  commit([create('table:first', 'a'), create('table:first', 'b')]);
  for (let from = 0; from < spaces.length; from += 100) {
    commit(spaces.slice(from, from + 100).map((space) => create(space, 'a')));
    assert.equal(opener.reader.describe('table:first')?.count, 2);
  }
  assert.equal(opener.reader.scan('table:first', {})?.count, 2);
  for (const space of spaces) assert.equal(opener.reader.describe(space)?.count, 1);
  const alsoThere = { ...create('table:first', 'c'), makeSpace: false } as Write;
  assert.deepEqual(commit([alsoThere]), [undefined]);
  opener.compactAll();
  assertCompacted(opener.store);
  assert.equal(opener.reader.describe('table:first')?.count, 3);
  await opener.close();
});

test('frees the memory of compacted changes in all processes', async (t) => {
  const file = newFile(t);
  const [first, second] = [new StoreOpener(file), new StoreOpener(file)];
  const recent = new Memtable(second.store);
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 5; n++) {
      first.transact(() => first.committer.carryOut([hundredNew(5 * round + n)]));
      // Entry by entry, as in a process that reads all the time.
      second.transact(() => recent.catchUp());
    }
    assert.equal(recent.changesOf('table:a').length, 500);
    first.compactAll();
    second.transact(() => recent.catchUp());
    assert.equal(recent.isEmpty, true);
    assert.ok(recent.journalSize < 100, `${recent.journalSize} characters are in the journal`);
  }
  for (const opener of [first, second]) await opener.close();
});

for (const [title, commitsOf] of Object.entries<(n: number) => Write[]>({
  'the same small items change repeatedly': (n) => hotIds.map((id) => replace(id, `${n}`.padEnd(200))),
  'the same large item changes repeatedly': (n) => [replace('hot-0', `${n}`.padEnd(100_000))],
  'large items follow many small ones': (n) =>
    n < 80 ? hundredNew(n) : [replace('hot-0', `${n}`.padEnd(100_000))],
})) {
  test(`bounds the journal during continuous writes when ${title}`, async (t) => {
    const opener = new StoreOpener(newFile(t));
    const { committer, transact, store } = opener;
    transact(() => committer.carryOut([hotIds.map((id) => create('table:a', id))]));
    let written = 0;
    for (let n = 0; written < 6 * journalSizeMax; n++) {
      const commits = commitsOf(n);
      transact(() => committer.carryOut(commits.map((write) => [write])));
      written += JSON.stringify(commits).length;
    }
    let size = 0;
    for (const { value } of store.journal.getRange({ start: 0 })) size += value.length;
    assert.ok(size < 4 * journalSizeMax, `the journal has ${size} characters`);
    await opener.close();
  });
}

test('bounds the changes in the journal during continuous writes of small items', async (t) => {
  const opener = new StoreOpener(newFile(t));
  const { committer, transact } = opener;
  const recent = new Memtable(opener.store);
  let most = 0;
  for (let n = 0; n < 500; n++) {
    transact(() => committer.carryOut([hundredNew(n)]));
    transact(() => recent.catchUp());
    most = Math.max(most, recent.journalChanges);
  }
  assert.ok(most >= journalChangesMax, `${most} changes, before compaction began`);
  assert.ok(most < 2 * journalChangesMax, `the journal had ${most} changes`);
  await opener.close();
});

function hundredNew(n: number): Write[] {
  return Array.from({ length: 100 }, (_, index) => create('table:a', `${n}-${index}`));
}

function create(space: Space, id: string): Write {
  return { kind: 'create', space, id, value: 'v', makeSpace: true };
}

function replace(id: string, value: string): Write {
  return { kind: 'replace', space: 'table:a', id, value };
}

function newFile(t: TestContext): string {
  const folder = newDataFolder(t);
  mkdirSync(folder, { recursive: true });
  return join(folder, 'store.mdb');
}
