import assert from 'node:assert/strict';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import type { Space, Write } from '../../src/storage/engine.ts';
import { storeFile } from '../../src/storage/lmdb/open.ts';
import { newDataFolder } from '../support/service.ts';
import { EngineProcess } from '../support/storage/engine-process.ts';
import { untilAtRest } from '../support/storage/rest.ts';

/** What a process reads after another one died in a commit (promise 13e). */
const space: Space = 'table:kept';

function create(id: string): Write {
  return { kind: 'create', space, id, value: `value of ${id}`, makeSpace: true };
}

async function openTwo(t: TestContext) {
  const folder = newDataFolder(t);
  const dying = await EngineProcess.open(t, folder);
  const other = await EngineProcess.open(t, folder);
  return { folder, file: storeFile(folder), dying, other };
}

/** All reads of a process agree that it has these items, and no others. */
async function assertHas(by: EngineProcess, ids: readonly string[], unread: readonly string[] = []) {
  const texts = ids.map((id) => JSON.stringify({ id, name: `value of ${id}` }));
  const [page, whole, facts, ...values] = await Promise.all([
    by.text(space, { limit: 1_000, after: '' }),
    by.text(space),
    by.describe(space),
    ...[...ids, ...unread].map((id) => by.get(space, id)),
  ]);
  assert.equal(page, texts.join(','));
  assert.equal(whole, texts.join(','));
  assert.equal(facts?.count, ids.length);
  assert.deepEqual(values, [...ids.map((id) => `value of ${id}`), ...unread.map(() => undefined)]);
}

/**
 * Commits an item and ends as a process does that is killed after its transaction is on disk, and before it has advanced the number.
 *
 * @returns false if an idle compaction, by either process, came in between: its number is then the last one, and nothing was set back
 */
async function dieBehind(file: string, dying: EngineProcess, id: string): Promise<boolean> {
  const before = lastNumber(file);
  assert.equal(await dying.commit([create(id)]), undefined);
  await assert.rejects(dying.request('die in a transaction'), { message: 'the process has ended' });
  if (lastNumber(file) !== before + 1n) return false;
  setNumberBack(file, 1n);
  return true;
}

test('reads at once what a process has written that died before it advanced the number of the last transaction', async (t) => {
  const { file, folder, dying, other } = await openTwo(t);
  assert.equal(await dying.commit([create('a')]), undefined);
  await untilAtRest(file);
  await assertHas(other, ['a']);
  if (!(await dieBehind(file, dying, 'b')))
    return t.skip('a compaction came between the commit and the death');
  await assertHas(other, ['a', 'b']);
  const late = await EngineProcess.open(t, folder);
  for (const by of [late, other]) await assertHas(by, ['a', 'b']);
  assert.deepEqual(await other.commit([create('b')]), { write: 0, reason: 'exists' });
  assert.equal(await late.commit([create('c')]), undefined);
  for (const by of [late, other]) await assertHas(by, ['a', 'b', 'c']);
});

test('reads nothing of a transaction in which its process died, and goes on', async (t) => {
  const { dying, other } = await openTwo(t);
  assert.equal(await dying.commit([create('a')]), undefined);
  await assert.rejects(dying.request('die in a transaction'), { message: 'the process has ended' });
  for (let n = 0; n < 3; n++) await assertHas(other, ['a'], ['b']);
  assert.equal(await other.commit([create('b')]), undefined);
  await assertHas(other, ['a', 'b']);
});

test('misses nothing when a snapshot is older than what the process has read before', async (t) => {
  const { file, dying, other } = await openTwo(t);
  assert.equal(await dying.commit([create('a'), create('b')]), undefined);
  await assertHas(other, ['a', 'b']);
  // Compaction moves the items into the leaves; the entry of its last transaction says so.
  await untilAtRest(file);
  await assertHas(other, ['a', 'b']);
  setNumberBack(file, 1n);
  for (let n = 0; n < 3; n++) await assertHas(other, ['a', 'b']);
});

/** In LMDB's lock file: the number of the last transaction. */
const numberAt = 8;

/**
 * Sets the number in a store's lock file back, as if its last transactions had written their meta pages and not advanced it. Call it in a
 * process that does not have the store open: closing the file releases the locks of the process on it.
 */
function setNumberBack(storeFile: string, by: bigint): void {
  const file = openSync(`${storeFile}-lock`, 'r+');
  const number = numberIn(file);
  number.writeBigUInt64LE(number.readBigUInt64LE() - by);
  writeSync(file, number, 0, number.length, numberAt);
  closeSync(file);
}

/** The number of the last transaction. As with `setNumberBack`, call it in a process that does not have the store open. */
function lastNumber(storeFile: string): bigint {
  const file = openSync(`${storeFile}-lock`, 'r');
  const number = numberIn(file).readBigUInt64LE();
  closeSync(file);
  return number;
}

function numberIn(file: number): Buffer {
  const number = Buffer.alloc(8);
  readSync(file, number, 0, number.length, numberAt);
  return number;
}
