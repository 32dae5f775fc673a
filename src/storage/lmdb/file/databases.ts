import type { RootDatabase } from 'lmdb';
import type { Space } from '../../engine.ts';
import {
  CheckedDatabase,
  type Codec,
  checksumBytes,
  type DamageFound,
  RecentlyChecked,
} from './checked-database.ts';
import type { SortedRun } from './sorted-run.ts';

/** As the main database of the environment names them. */
export const databaseNames = ['records', 'leaves', 'journal'] as const;

/** What a store consists of. */
export interface Databases {
  /** By space, as JSON: the space as of its last compaction. */
  readonly records: CheckedDatabase<string, string>;
  /**
   * By `leafKey`: a space's items as a series of sorted runs, each under the greatest id that belongs in it, the last
   * one under `lastLeafKey`. A value is valid until the next read of the same thread, because the library reuses its
   * buffer.
   */
  readonly leaves: CheckedDatabase<SortedRun, string>;
  /** Spaces of which this thread has read every leaf within the last minute, so that a long read need not check them again. */
  readonly recentlyRead: RecentlyChecked;
  /** By commit number, `JournalEntry` as JSON. */
  readonly journal: CheckedDatabase<string, number>;
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
const ownBuffer = {
  encode: (bytes: Buffer) => bytes,
  decode: (bytes: Buffer) => bytes.subarray(0, bytes.length),
};

/** Cuts off the checksum, too. */
const ownContent = {
  encode: () => {
    throw new Error('values are written with their checksums');
  },
  decode: (bytes: Buffer) => bytes.subarray(0, bytes.length - checksumBytes),
};

const runs: Codec<SortedRun> = { encode: (run) => run, decode: (content) => content };
const text: Codec<string> = { encode: (json) => Buffer.from(json), decode: (content) => content.toString() };

export function openDatabases(root: RootDatabase<string, string>, damaged?: DamageFound): Databases {
  const bytes = { keyEncoder: byteKeys, encoder: ownBuffer };
  // In variables, because the library's types lack the encoders.
  const named = {
    records: { name: 'records', ...bytes },
    leaves: { name: 'leaves', ...bytes },
    journal: { name: 'journal', keyEncoder: numberKeys, encoder: ownBuffer },
  };
  const records = root.openDB<Buffer, string>(named.records);
  const leaves = root.openDB<Buffer, string>(named.leaves);
  const journal = root.openDB<Buffer, number>(named.journal);
  const contents = root.openDB<SortedRun, string>({
    ...named.leaves,
    encoder: ownContent,
  } as typeof named.leaves);
  return {
    recentlyRead: new RecentlyChecked(),
    records: new CheckedDatabase(records, {
      ...{ codec: text, damaged },
      describe: (space) => `${space}: its record`,
      describeToLog: (space) => `${space}: its record`,
    }),
    leaves: new CheckedDatabase(leaves, {
      ...{ codec: runs, damaged, contents, recently: new RecentlyChecked() },
      describe: (key) =>
        `${spaceOf(key)}: the leaf up to ${JSON.stringify(key.slice(spaceOf(key).length + 1))}`,
      describeToLog: (key) => `${spaceOf(key)}: a leaf`,
    }),
    journal: new CheckedDatabase(journal, {
      ...{ codec: text, damaged },
      describe: (commit) => `the journal: commit ${commit}`,
      describeToLog: (commit) => `the journal: commit ${commit}`,
    }),
  };
}

/** The keys of leaves, as strings whose characters each stand for one byte, so that string order is byte order. */

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
