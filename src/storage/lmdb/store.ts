import { type Database, open, type RootDatabase } from 'lmdb';
import type { Space } from '../engine.ts';
import { checkFile, type Format, formatOf } from './format.ts';
import { snapshotsMax } from './limits.ts';
import type { SortedRun } from './sorted-run.ts';
import { StoreMutex } from './store-mutex.ts';

/**
 * The LMDB environment of a data folder; each thread of each process opens it for itself.
 *
 * A commit is appended to the journal, which makes it durable with the least writing. Its changes go into the leaves
 * later, many at a time, and then leave the journal (folding.ts). What a space holds is so always: its leaves, and
 * over them the changes that the journal still has (recent.ts).
 */
export interface Store {
  readonly root: RootDatabase<string, string>;
  readonly format: Format;
  /** By space, as JSON: the space as of when its last change was folded. */
  readonly records: Database<string, string>;
  /**
   * By `leafKey`: a space's items as a row of sorted runs, each under the greatest id that belongs in it, the last
   * one under `lastLeafKey`. What is read is valid until the next read of the same thread: the library hands out
   * one buffer again and again.
   */
  readonly leaves: Database<SortedRun, string>;
  /** By commit number, `JournalEntry` as JSON. */
  readonly journal: Database<string, number>;
  /** One transaction, while no other process writes, or opens the store. Throws what the work throws, with nothing written. */
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

/** Keys are strings whose characters each stand for one byte, so that comparing them is comparing bytes. */
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

/** Hands over the library's own buffer, cut to the length of the value. */
const runs = {
  encode: (run: SortedRun) => run,
  decode: (bytes: Buffer) => bytes.subarray(0, bytes.length),
};

/**
 * Makes the store where there is none. Throws SettingsError for a file that is no store of ours, or damaged.
 *
 * `overlappingSync: false` makes a commit visible only after its flush: with the library's default a reader could
 * see what a power cut then takes back.
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

function openAlone(file: string, mutex: StoreMutex): Store {
  const { isEmpty } = checkFile(file);
  const root = open<string, string>({
    path: file,
    overlappingSync: false,
    maxDbs: 4,
    maxReaders: snapshotsMax,
    encoding: 'string',
  });
  const format = formatOf(file, root, isEmpty);
  // Of processes that were killed: what they last read would be kept for ever.
  root.readerCheck();
  const records = { name: 'records', keyEncoder: byteKeys, encoding: 'string' } as const;
  const leaves = { name: 'leaves', keyEncoder: byteKeys, encoder: runs } as const;
  const journal = { name: 'journal', keyEncoder: numberKeys, encoding: 'string' } as const;
  return {
    root,
    format,
    records: root.openDB(records),
    leaves: root.openDB(leaves),
    journal: root.openDB(journal),
    write: (work) => mutex.hold(() => root.transactionSync(work)),
    close: async () => {
      await root.close();
      await mutex.close();
    },
  };
}

/** The UTF-8 bytes of an id, a character for each: ids compare as their bytes do. */
export function bytesOf(id: string): string {
  return Buffer.from(id).toString('latin1');
}

/** A space's name holds no control character, so no key of one space sorts among those of another. */
export function leafKey(space: Space, idBytes: string): string {
  return `${space}\0${idBytes}`;
}

/** The space whose leaf has this key. */
export function spaceOf(key: string): Space {
  const [name = ''] = key.split('\0', 1);
  return (name.endsWith('\x01') ? name.slice(0, -1) : name) as Space;
}

/** Before every key of every space. */
export const firstKey = '\x01';

export function lastLeafKey(space: Space): string {
  return `${space}\x01`;
}

/** Beyond every key of the space. */
export function endKey(space: Space): string {
  return `${space}\x02`;
}
