import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { open, type RootDatabase } from 'lmdb';
import type { DamageFound } from './file/checked-database.ts';
import { type Databases, openDatabases, spacesProblem } from './file/databases.ts';
import { noteCommit, notedCommit } from './file/failure.ts';
import {
  checkFile,
  checkStructure,
  damage,
  emptyProblem,
  endMaking,
  type Format,
  makeFormat,
  noteMaking,
  readOrMakeFormat,
  wholeState,
} from './file/format.ts';
import { StoreMutex } from './file/store-mutex.ts';
import { snapshotsMax } from './limits.ts';

/**
 * The LMDB environment of a data folder. Each thread of each process opens its own.
 *
 * A commit is appended to the journal, which makes it durable with the fewest writes. Later, compaction moves many changes at a time into
 * the leaves, and then out of the journal (compaction.ts). The content of a space is its leaves, overridden by the changes in the journal
 * (memtable.ts).
 */
export interface Store extends Databases {
  readonly root: RootDatabase<string, string>;
  readonly format: Format;
  /** Runs one transaction while no other process writes or opens the store. Writes nothing when the work throws. */
  write<Result>(work: () => Result): Result;
  close(): Promise<void>;
}

export interface SpaceRecord {
  /** The number of items. */
  readonly count: number;
  /** The bytes of all items' texts, without the commas between them. */
  readonly textBytes: number;
  /** The number of the last commit that changed the space. */
  readonly generation: number;
}

interface OpenOptions {
  readonly damaged?: DamageFound | undefined;
  /** Whether another thread of this process has already checked the file. */
  readonly isChecked?: boolean;
}

/**
 * Opens the store, and creates it if missing. Throws SettingsError if the file is damaged or not a Counterfoil store.
 */
export function openStore(file: string, options: OpenOptions = {}): Store {
  const mutex = new StoreMutex(file);
  try {
    const whole = options.isChecked ? undefined : wholeState(file);
    return mutex.hold(() => openAlone(file, mutex, { ...options, whole }));
  } catch (error) {
    void mutex.close();
    throw error;
  }
}

/**
 * Opens an existing store for reading: `write` fails. On a read-only disk there is no mutex, because nobody writes there. Throws
 * SettingsError.
 */
export function openStoreToRead(file: string): Store {
  let mutex: StoreMutex | undefined;
  try {
    mutex = new StoreMutex(file);
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code !== 'EROFS' && code !== constants.errno.EROFS) throw error;
  }
  try {
    const whole = wholeState(file);
    const open = () => openAlone(file, mutex, { readOnly: true, whole });
    return mutex === undefined ? open() : mutex.hold(open);
  } catch (error) {
    void mutex?.close();
    throw error;
  }
}

interface Alone {
  readonly readOnly?: boolean;
  readonly whole?: ReturnType<typeof wholeState>;
}

function openAlone(
  file: string,
  mutex: StoreMutex | undefined,
  { readOnly = false, isChecked = false, damaged, whole }: OpenOptions & Alone,
): Store {
  const { isEmpty } = checkFile(file);
  if (!isChecked) checkStructure(file, whole);
  const lost = isEmpty ? emptyProblem(file) : undefined;
  if (lost !== undefined) throw damage(file, lost);
  if (isEmpty && existsSync(file) && notedCommit(file) > 0)
    throw damage(file, `is empty, and has had ${notedCommit(file)} commits`);
  if (!readOnly) noteMaking(file);
  const root = openEnvironment(file, readOnly);
  let format: Format;
  try {
    format = readOrMakeFormat(file, root, { isEmpty, readOnly });
  } catch (error) {
    void root.close();
    throw error;
  }
  if (isEmpty) endMaking(file);
  // Frees the snapshots of killed processes. Otherwise their pages would never be reused.
  root.readerCheck();
  const databases = openDatabases(root, damaged);
  if (!readOnly && !isChecked) checkContent(file, databases, root);
  // A read after all databases are open registers this process in LMDB's reader table until it closes the store (`processesOn`).
  const [last = 0] = databases.journal.getKeys({ reverse: true, limit: 1 });
  // The file was overwritten with an older one.
  if (!readOnly && notedCommit(file) > last) {
    format = root.transactionSync(() => makeFormat(file, root));
    noteCommit(file, last);
  }
  return {
    root,
    format,
    ...databases,
    write: (work) => {
      if (mutex === undefined) throw new Error('the store was opened to be read');
      return mutex.hold(() => root.transactionSync(work));
    },
    close: async () => {
      await root.close();
      await mutex?.close();
    },
  };
}

/** If a part of the journal or a space is missing, the content of the store is unknown, and nothing may be read or written. */
function checkContent(file: string, databases: Databases, root: RootDatabase<string, string>): void {
  const problem = findDamagedEntry(databases) ?? spacesProblem(databases);
  if (problem === undefined) return;
  void root.close();
  throw damage(file, `is damaged: ${problem}`);
}

function findDamagedEntry({ journal }: Databases): string | undefined {
  for (const { key, isIntact } of journal.inspect({ start: 0 }))
    if (!isIntact) return `${journal.describe(key)} has a wrong checksum`;
  return undefined;
}

/**
 * Check the file first: LMDB may crash the process on a damaged one.
 *
 * `overlappingSync: false` makes a commit visible only after its flush. With the library's default, a reader could see a commit that a
 * power cut then loses.
 */
export function openEnvironment(
  file: string,
  readOnly = false,
  maxReaders = snapshotsMax,
): RootDatabase<string, string> {
  return open<string, string>({
    path: file,
    overlappingSync: false,
    readOnly,
    maxDbs: 4,
    maxReaders,
    encoding: 'string',
  });
}

/** LMDB's statistics, which the library's types leave out. */
export interface Statistics {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

/**
 * Bytes of the file that no tree uses. New commits use them before the file grows, unless an older snapshot may still read them.
 */
export function reusableBytes({ root, records, leaves, journal }: Store): number {
  const found = root.getStats() as Statistics & {
    readonly root: Statistics;
    readonly free: Statistics;
    readonly lastPageNumber: number;
  };
  const databases = [records, leaves, journal].map((each) => each.getStats() as Statistics);
  // The first two pages are LMDB's own.
  const used = [found.root, found.free, ...databases].reduce((sum, tree) => sum + countPages(tree), 2);
  return (found.lastPageNumber + 1 - used) * found.root.pageSize;
}

/** The pages of a tree. */
export function countPages({ treeBranchPageCount, treeLeafPageCount, overflowPages }: Statistics): number {
  return treeBranchPageCount + treeLeafPageCount + overflowPages;
}

/** The other processes that have the store of a file open. */
export async function processesOn(file: string): Promise<readonly number[]> {
  if (!existsSync(file)) return [];
  const store = openStoreToRead(file);
  try {
    return otherProcessesOn(store.root);
  } finally {
    await store.close();
  }
}

/**
 * The other processes that have an open store open too. Opening a store reads in it, and a process that has read stays in LMDB's reader
 * table until it closes the store.
 */
export function otherProcessesOn(root: RootDatabase<string, string>): readonly number[] {
  root.readerCheck();
  const pids = [...root.readerList().matchAll(/^\s*(\d+) /gm)].map(([, pid]) => Number(pid));
  return [...new Set(pids)].filter((pid) => pid !== process.pid);
}

/**
 * Gives a store a new id, so that its earlier ETags become invalid. Call it after the content of a store was copied, or was put in place
 * by other means than commits. A process that has the store open keeps the old id until it ends. Throws SettingsError if there is no store
 * of this version.
 *
 * Opening a store detects that its file was put back (`readOrMakeFormat`), unless the whole disk was set back.
 */
export async function renewStoreId(file: string): Promise<void> {
  const store = openStore(file);
  try {
    store.write(() => makeFormat(file, store.root));
  } finally {
    await store.close();
  }
}
