import assert from 'node:assert/strict';
import {
  closeSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  openSync,
  readSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { test } from 'node:test';
import { open as openLmdb } from 'lmdb';
import type { Space } from '../../src/storage/engine.ts';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { openStore, openStoreToRead } from '../../src/storage/lmdb/store.ts';
import { newDataFolder } from '../support/service.ts';
import { EngineProcess } from '../support/storage/engine-process.ts';

const space: Space = 'table:kept';
const pageBytes = 4096;
const transactionAt = 152;

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

function numbersIn(file: string): [bigint, bigint] {
  const descriptor = openSync(file, 'r');
  const bytes = Buffer.alloc(2 * pageBytes);
  readSync(descriptor, bytes, 0, bytes.length, 0);
  closeSync(descriptor);
  return [bytes.readBigUInt64LE(transactionAt), bytes.readBigUInt64LE(pageBytes + transactionAt)];
}

function newerMetaAt(file: string): number {
  const [first, second] = numbersIn(file);
  return first >= second ? 0 : pageBytes;
}

/** Of the last transaction. */
function numberOf(file: string): bigint {
  const [first, second] = numbersIn(file);
  return first >= second ? first : second;
}

/** As LMDB leaves the meta page that it could not write: new roots, and the number that was there. */
function failWriteOf(file: string, was: bigint): void {
  change(file, newerMetaAt(file) + transactionAt, was - numberOf(file));
}

async function assertHolds(folder: string, ids: readonly string[]): Promise<void> {
  for (const id of ids) assert.equal(await read(folder, id), `value of ${id}`);
}

test('opens a store whose last write of a meta page failed, also a copy of its file alone', async (t) => {
  const folder = newDataFolder(t);
  for (const id of ['first', 'second']) await add(folder, id);
  const file = storeFile(folder);
  failWriteOf(file, numberOf(file) - 2n);
  const copy = newDataFolder(t);
  mkdirSync(copy, { recursive: true });
  copyFileSync(file, storeFile(copy));
  for (const each of [folder, copy]) {
    for (const added of ['third', 'fourth']) {
      await add(each, added);
      await assertHolds(each, ['first', 'second', added]);
    }
  }
});

test('opens a compacted copy whose first write of a meta page failed', async (t) => {
  const folder = newDataFolder(t);
  for (const id of ['first', 'second']) await add(folder, id);
  const copy = newDataFolder(t);
  const file = storeFile(copy);
  mkdirSync(copy, { recursive: true });
  const store = openStore(storeFile(folder));
  await store.root.backup(file, true);
  await store.close();
  // The copy gets an id of its own.
  await openStore(file).close();
  assert.equal(newerMetaAt(file), 0);
  failWriteOf(file, 0n);
  await assertHolds(copy, ['first', 'second']);
  await add(copy, 'third');
  await assertHolds(copy, ['first', 'second', 'third']);
});

test('opens a new store whose first transaction failed', async (t) => {
  const folder = newDataFolder(t);
  mkdirSync(folder, { recursive: true });
  const root = openLmdb({ path: storeFile(folder), overlappingSync: false, maxDbs: 4, encoding: 'string' });
  while (numberOf(storeFile(folder)) === 0n) root.transactionSync(() => root.putSync('counterfoil', '{}'));
  await root.close();
  assert.equal(numberOf(storeFile(folder)), 1n);
  failWriteOf(storeFile(folder), 0n);
  // The note that a first start leaves until its store is made.
  writeFileSync(`${storeFile(folder)}-making`, '');
  await add(folder, 'first');
  await assertHolds(folder, ['first']);
});

test('a meta page with an altered number that hides a commit is noticed: the store counts as an older copy', async (t) => {
  const folder = newDataFolder(t);
  const process = await EngineProcess.open(t, folder);
  for (const id of ['first', 'last'])
    assert.equal(
      await process.commit([{ kind: 'create', space, id, value: id, makeSpace: true }]),
      undefined,
    );
  await process.kill();
  const file = storeFile(folder);
  const idOf = async () => {
    const store = openStore(file);
    await store.close();
    return store.format.id;
  };
  const copy = newDataFolder(t);
  cpSync(folder, copy, { recursive: true });
  failWriteOf(file, numberOf(file) - 2n);
  const [id, untouched] = [await idOf(), await openStoreToRead(storeFile(copy))];
  await untouched.close();
  assert.notEqual(id, untouched.format.id);
  assert.equal(await idOf(), id);
});
