import { appendFileSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { RootDatabase } from 'lmdb';
import { BackupFailed } from '../../../backup/target.ts';
import { diskReserveBytes } from '../../limits.ts';
import type { CheckedDatabase } from '../file/checked-database.ts';
import { type Databases, databaseNames, firstKey, openDatabases } from '../file/databases.ts';
import type { Transaction } from '../log/leaves.ts';
import { openEnvironment, reusableBytes, type Store } from '../store.ts';

/** Bytes that a copy writes and flushes at once: about a millisecond each. */
const bytesPerStep = 256 * 1024;
/** Readers of a copy that is being written. Each takes memory that is mapped from a file of that size. */
const copyReadersMax = 8;

/** Called after each step of a copy, to pause it. */
export type Rest = () => void;

/**
 * Copies one snapshot of a store to a new file, value by value in the order of the keys. So the copy contains nothing that was deleted, and
 * its trees are full. docs/decisions/continuous-backup.md says why LMDB's own copy is not used. Throws BackupFailed.
 *
 * @param file the store's file
 */
export async function copySnapshot(
  store: Store,
  file: string,
  to: string,
  rest: Rest = () => undefined,
): Promise<void> {
  checkRoom(file, to, reusableBytes(store));
  const copy = openEnvironment(to, false, copyReadersMax);
  store.root.resetReadTxn();
  const transaction = store.root.useReadTransaction();
  try {
    await new SnapshotCopy(store, transaction, copy, rest).run();
  } catch (error) {
    throw copyFailed(to, error as Error);
  } finally {
    transaction.done();
    await copy.close();
  }
}

type StoredEntry<Key> = readonly [key: Key, stored: Buffer];

class SnapshotCopy {
  readonly #store: Store;
  readonly #transaction: Transaction;
  readonly #copy: RootDatabase<string, string>;
  readonly #databases: Databases;
  readonly #rest: Rest;

  constructor(store: Store, transaction: Transaction, copy: RootDatabase<string, string>, rest: Rest) {
    this.#store = store;
    this.#transaction = transaction;
    this.#copy = copy;
    this.#databases = openDatabases(copy);
    this.#rest = rest;
  }

  async run(): Promise<void> {
    await this.#copyAll(this.#store.leaves, this.#databases.leaves, firstKey);
    await this.#copyAll(this.#store.records, this.#databases.records, firstKey);
    await this.#copyAll(this.#store.journal, this.#databases.journal, 0);
    // The root has the format, so an interrupted copy is no store.
    this.#copyRoot();
  }

  async #copyAll<Value, Key extends string | number>(
    from: CheckedDatabase<Value, Key>,
    to: CheckedDatabase<Value, Key>,
    start: Key,
  ): Promise<void> {
    let entries: StoredEntry<Key>[] = [];
    let bytes = 0;
    for (const { key, value } of from.getStored({ start, transaction: this.#transaction })) {
      // The library reads the next value into the same buffer.
      entries.push([key, Buffer.from(value)]);
      bytes += value.length;
      if (bytes < bytesPerStep) continue;
      this.#append(to, entries);
      entries = [];
      bytes = 0;
      this.#rest();
      await turn();
    }
    this.#append(to, entries);
  }

  /** Appends the entries in one flushed transaction. A single flush of the whole copy at its end would delay the commits of a service. */
  #append<Value, Key extends string | number>(
    to: CheckedDatabase<Value, Key>,
    entries: readonly StoredEntry<Key>[],
  ): void {
    this.#copy.transactionSync(() => {
      for (const [key, stored] of entries) to.putStored(key, stored);
    });
  }

  #copyRoot(): void {
    const { root } = this.#store;
    const transaction = this.#transaction;
    const isOwn = (key: string) => !(databaseNames as readonly string[]).includes(key);
    const keys = Array.from(root.getKeys({ transaction })).filter(isOwn);
    const entries = keys.map((key) => [key, root.get(key, { transaction }) as string] as const);
    this.#copy.transactionSync(() => {
      for (const [key, text] of entries) this.#copy.putSync(key, text);
    });
  }
}

/** LMDB reports errors of the system without a code. */
function copyFailed(to: string, error: Error): BackupFailed {
  const message = /Input\/output error/.test(error.message) ? findWriteError(to) : error.message;
  const isFull = /No space left|File too large|quota exceeded/i.test(message);
  return new BackupFailed(
    isFull ? 'target_full' : 'target_unusable',
    `${dirname(to)}: the copy cannot be written: ${message}`,
    error,
  );
}

/** LMDB calls every incomplete write an input/output error. The next write fails with the cause. */
function findWriteError(to: string): string {
  try {
    appendFileSync(to, Buffer.alloc(bytesPerStep));
    return 'a write was cut short';
  } catch (error) {
    return (error as Error).message;
  }
}

/** A copy on the disk of the store must not fill that disk for the service. */
function checkRoom(file: string, to: string, reusable: number): void {
  const folder = resolve(to, '..');
  const { size, dev } = statSync(file);
  const { bavail, bsize } = statfsSync(folder);
  const reserve = statSync(folder).dev === dev ? diskReserveBytes : 0;
  const needed = size - reusable + reserve;
  if (bavail * bsize < needed)
    throw new BackupFailed(
      'target_full',
      `${folder}: has room for ${bavail * bsize} bytes, and the copy needs ${needed}`,
    );
}
