import assert from 'node:assert/strict';
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Space } from '../../src/storage/engine.ts';
import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import { newDataFolder } from '../support/service.ts';

const space: Space = 'table:kept';
const pageBytes = 4096;
/** Of a meta page, and of the lock file. */
const transactionAt = { meta: 152, lock: 8 };

async function add(folder: string, id: string): Promise<void> {
  const engine = openLmdbEngine(folder);
  assert.equal(
    await engine.commit([{ kind: 'create', space, id, value: `value of ${id}`, makeSpace: true }]),
    undefined,
  );
  await engine.close();
}

async function read(folder: string, id: string): Promise<string | undefined> {
  const engine = openLmdbEngine(folder);
  const value = await engine.get(space, id);
  await engine.close();
  return value;
}

/** Adds to a number of eight bytes. */
function change(file: string, at: number, by: bigint): void {
  const descriptor = openSync(file, 'r+');
  const number = Buffer.alloc(8);
  readSync(descriptor, number, 0, 8, at);
  number.writeBigUInt64LE(number.readBigUInt64LE() + by);
  writeSync(descriptor, number, 0, 8, at);
  closeSync(descriptor);
}

function newerMetaAt(file: string): number {
  const descriptor = openSync(file, 'r');
  const numbers = [0, pageBytes].map((page) => {
    const number = Buffer.alloc(8);
    readSync(descriptor, number, 0, 8, page + transactionAt.meta);
    return number.readBigUInt64LE();
  }) as [bigint, bigint];
  closeSync(descriptor);
  return numbers[0] > numbers[1] ? 0 : pageBytes;
}

/**
 * A store whose newer meta page has the number of the transaction before the last one: as LMDB leaves it when the
 * write of that page fails, and as an altered number would look.
 */
async function storeWithOldNumber(t: TestContext): Promise<{ folder: string; lock: string }> {
  const folder = newDataFolder(t);
  for (const id of ['first', 'second', 'last']) await add(folder, id);
  const file = join(folder, 'store.mdb');
  change(file, newerMetaAt(file) + transactionAt.meta, -2n);
  return { folder, lock: `${file}-lock` };
}

test('opens a store whose last write of a meta page failed, and has what was committed before', async (t) => {
  const { folder, lock } = await storeWithOldNumber(t);
  change(lock, transactionAt.lock, -1n);
  for (const added of ['third', 'fourth']) {
    await add(folder, added);
    for (const id of ['first', 'second', added]) assert.equal(await read(folder, id), `value of ${id}`);
  }
});

test('rejects a store whose newer meta page has an old number, which hides a commit', async (t) => {
  const withLock = await storeWithOldNumber(t);
  const withoutLock = await storeWithOldNumber(t);
  rmSync(withoutLock.lock);
  for (const { folder } of [withLock, withoutLock])
    assert.throws(() => openLmdbEngine(folder), /is damaged: a meta page is older/);
});
