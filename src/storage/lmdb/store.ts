import { constants } from 'node:os';
import { type Database, open, type RootDatabase } from 'lmdb';
import type { Space } from '../engine.ts';
import { noteCommit, notedCommit } from './failure.ts';
import { checkFile, type Format, formatOf, makeFormat } from './format.ts';
import { snapshotsMax } from './limits.ts';
import type { SortedRun } from './sorted-run.ts';
import { StoreMutex } from './store-mutex.ts';

/**
 * The LMDB environment of a data folder; each thread of each process opens its own.
 *
 * A commit is appended to the journal, which makes it durable with the fewest writes. Compaction moves its changes into
 * the leaves later, many at a time, and then out of the journal (compaction.ts). The content of a space is its leaves,
 * overridden by the changes in the journal (memtable.ts).
 */
export interface Store {
  readonly root: RootDatabase<string, string>;
  readonly format: Format;
  /** By space, as JSON: the space as of its last compaction. */
  readonly records: Database<string, string>;
  /**
   * By `leafKey`: a space's items as a series of sorted runs, each under the greatest id that belongs in it, the last
   * one under `lastLeafKey`. A value is valid until the next read of the same thread, because the library reuses its
   * buffer.
   */
  readonly leaves: Database<SortedRun, string>;
  /** By commit number, `JournalEntry` as JSON. */
  readonly journal: Database<string, number>;
  /** Runs one transaction while no other process writes or opens the store. Writes nothing when the work throws. */
  write<Result>(work: () => Result): Result;
  close(): Promise<void>;
}

export interface SpaceRecord {
  /** Items. */
  readonly count: number;
  /** Bytes of all items' texts, without the commas between them. */
  readonly textBytes: number;
  /** The number of the last commit that changed the space. */
  readonly generation: number;
}

/** Each character of a key stands for one byte, so string order is byte order. */
const byteKeys = {
  writeKey: (key: string, target: Buffer, position: number) =>
    position + target.write(key, position, 'latin1'),
  readKey: (source: Buffer, start: number, end: number) => source.toString('latin1', start, end),
};

/** 48 bits: at a million commits a second enough for eight years. */
const numberKeyBytes = 6;
const numberKeys = {
  writeKey: (key: number, target: Buffer, position: number) =>
    target.writeUIntBE(key, position, numberKeyBytes),
  readKey: (source: Buffer, start: number) => source.readUIntBE(start, numberKeyBytes),
};

/** Returns the library's own buffer, cut to the length of the value. */
const runs = {
  encode: (run: SortedRun) => run,
  decode: (bytes: Buffer) => bytes.subarray(0, bytes.length),
};

/**
 * Opens the store, and creates it if missing. Throws SettingsError when the file is damaged or not a Counterfoil store.
 *
 * `overlappingSync: false` makes a commit visible only after its flush. With the library's default, a reader could see
 * a commit that a power cut then loses.
 */
export function openStore(file: string): Store {
  const mutex = new StoreMutex(file);
  try {
    return mutex.hold(() => openAlone(file, mutex));
  } catch (error) {
    void mutex.close();
    throw error;
  }
}

/**
 * Opens a store that exists, and writes nothing to it: `write` fails. The file may be on a disk that is read-only; then there is
 * no mutex, because nobody writes to it. Throws SettingsError.
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
    const open = () => openAlone(file, mutex, true);
    return mutex === undefined ? open() : mutex.hold(open);
  } catch (error) {
    void mutex?.close();
    throw error;
  }
}

function openAlone(file: string, mutex: StoreMutex | undefined, readOnly = false): Store {
  const { isEmpty } = checkFile(file);
  const root = open<string, string>({
    path: file,
    overlappingSync: false,
    readOnly,
    maxDbs: 4,
    maxReaders: snapshotsMax,
    encoding: 'string',
  });
  let format = formatOf(file, root, { isEmpty, readOnly });
  // Frees the snapshots of killed processes; otherwise their pages would never be reused.
  root.readerCheck();
  const records = { name: 'records', keyEncoder: byteKeys, encoding: 'string' } as const;
  const leaves = { name: 'leaves', keyEncoder: byteKeys, encoder: runs } as const;
  const journal = { name: 'journal', keyEncoder: numberKeys, encoding: 'string' } as const;
  const entries = root.openDB<string, number>(journal);
  const [last = 0] = entries.getKeys({ reverse: true, limit: 1 });
  // The file was overwritten with an older one.
  if (!readOnly && notedCommit(file) > last) {
    format = root.transactionSync(() => makeFormat(file, root));
    noteCommit(file, last);
  }
  return {
    root,
    format,
    records: root.openDB(records),
    leaves: root.openDB(leaves),
    journal: entries,
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

/** LMDB's statistics, which the library's types leave out. */
export interface Statistics {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

/**
 * Bytes of the file that no tree uses. New commits use them before the file grows, unless an older snapshot may still read
 * them.
 */
export function reusableBytes({ root, records, leaves, journal }: Store): number {
  const found = root.getStats() as Statistics & {
    readonly root: Statistics;
    readonly free: Statistics;
    readonly lastPageNumber: number;
  };
  const trees = [found.root, found.free, ...[records, leaves, journal].map((each) => statisticsOf(each))];
  // The two first pages are LMDB's own.
  const used = trees.reduce(
    (sum, tree) => sum + tree.treeBranchPageCount + tree.treeLeafPageCount + tree.overflowPages,
    2,
  );
  return (found.lastPageNumber + 1 - used) * found.root.pageSize;
}

function statisticsOf(database: { getStats(): object }): Statistics {
  return database.getStats() as Statistics;
}

/** The UTF-8 bytes of an id, one character for each, so that string order is byte order. */
export function bytesOf(id: string): string {
  return Buffer.from(id).toString('latin1');
}

/** Space names have no control characters, so the keys of two spaces never mix in the order. */
export function leafKey(space: Space, idBytes: string): string {
  return `${space}\0${idBytes}`;
}

/** The space of the leaf with this key. */
export function spaceOf(key: string): Space {
  const [name = ''] = key.split('\0', 1);
  return (name.endsWith('\x01') ? name.slice(0, -1) : name) as Space;
}

/** Before every key of every space. */
export const firstKey = '\x01';

export function lastLeafKey(space: Space): string {
  return `${space}\x01`;
}

/** After every key of the space. */
export function endKey(space: Space): string {
  return `${space}\x02`;
}
