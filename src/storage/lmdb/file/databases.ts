import { isUtf8 } from 'node:buffer';
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

/** The names in the environment's main database. */
export const databaseNames = ['records', 'leaves', 'journal'] as const;

/** The parts of a store. */
export interface Databases {
  /** The record of each space at its last compaction, as JSON by space. */
  readonly records: CheckedDatabase<string, string>;
  /**
   * A space's items as a series of sorted runs, by `leafKey`. The key of a run has the greatest id that belongs in it; the last run is
   * under `lastLeafKey`. A value is valid until the next read of the same thread, because the library reuses its buffer.
   */
  readonly leaves: CheckedDatabase<SortedRun, string>;
  /** Spaces of which this thread has read every leaf within the last minute. A long read does not check them again. */
  readonly recentlyRead: RecentlyChecked;
  /** A `JournalEntry` as JSON, by commit number. */
  readonly journal: CheckedDatabase<string, number>;
}

/** Each character of a key stands for one byte, so string order is byte order. */
const byteKeys = {
  writeKey: (key: string, target: Buffer, position: number) =>
    position + target.write(key, position, 'latin1'),
  readKey: (source: Buffer, start: number, end: number) => source.toString('latin1', start, end),
};

/** 48 bits are enough for eight years at a million commits a second. */
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

/** Cuts off the checksum too. */
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
        `${parseSpace(key)}: the leaf up to ${JSON.stringify(key.slice(parseSpace(key).length + 1))}`,
      describeToLog: (key) => `${parseSpace(key)}: a leaf`,
    }),
    journal: new CheckedDatabase(journal, {
      ...{ codec: text, damaged },
      describe: (commit) => `the journal: commit ${commit}`,
      describeToLog: (commit) => `the journal: commit ${commit}`,
    }),
  };
}

/** Undefined if the content is not JSON in UTF-8. */
export function parseJson(content: Buffer | string): unknown {
  try {
    return typeof content === 'string' || isUtf8(content) ? JSON.parse(content.toString()) : undefined;
  } catch {
    return undefined;
  }
}

/** The UTF-8 bytes of an id, one character for each, so that string order is byte order. */
export function encodeId(id: string): string {
  return Buffer.from(id).toString('latin1');
}

/** The key of a leaf. Space names have no control characters, so the keys of two spaces never mix in the order. */
export function leafKey(space: Space, idBytes: string): string {
  return `${space}\0${idBytes}`;
}

/** The space of the leaf with this key. */
export function parseSpace(key: string): Space {
  const [name = ''] = key.split('\0', 1);
  return (name.endsWith('\x01') ? name.slice(0, -1) : name) as Space;
}

/** Less than every key of every space. */
export const firstKey = '\x01';

export function lastLeafKey(space: Space): string {
  return `${space}\x01`;
}

/** Greater than every key of the space. */
export function endKey(space: Space): string {
  return `${space}\x02`;
}

/** The fields of a `SpaceRecord` and of a `JournalEntry` that this file reads. */
interface RecordHead {
  readonly count: number;
}
interface EntryHead {
  readonly spaces: readonly (readonly [space: Space, ...unknown[]])[];
}

/**
 * Finds spaces that are missing or incomplete because the key of a leaf or of a record was altered. Nothing reads a value under an
 * altered key, so its checksum cannot show the damage. Reads all records and one leaf key of each space. Reads the journal only if
 * something is missing: an interrupted compaction can leave a space with leaves and no record, or with a record and no leaves, but then
 * the space is still in the journal.
 *
 * @returns what is wrong, as the end of a sentence; undefined if nothing is missing
 */
export function spacesProblem({ records, leaves, journal }: Databases): string | undefined {
  const counts = new Map<Space, number>();
  for (const { key, content, isIntact } of records.inspect({ start: firstKey })) {
    if (!isIntact) return `${records.describe(key)} has a wrong checksum`;
    counts.set(key as Space, (JSON.parse(content.toString()) as RecordHead).count);
  }
  const inLeaves = new Set(spacesIn(leaves));
  const unknown = [...inLeaves].filter((space) => !counts.has(space));
  const empty = [...counts].filter(([space, count]) => count > 0 && !inLeaves.has(space));
  if (unknown.length + empty.length === 0) return undefined;
  const changing = spacesInJournal(journal);
  const lost = [...unknown, ...empty.map(([space]) => space)].find((space) => !changing.has(space));
  return lost === undefined
    ? undefined
    : `a name of the items or of the record of ${JSON.stringify(lost)} was altered`;
}

/** The spaces that have leaves. Each costs a seek, not a scan. */
function* spacesIn(leaves: Databases['leaves']): Iterable<Space> {
  let start = firstKey;
  for (;;) {
    const [key] = leaves.getKeys({ start, limit: 1 });
    if (key === undefined) return;
    const space = parseSpace(key);
    // No leaf has this key: an id is not empty.
    yield key === leafKey(space, '') ? (key as Space) : space;
    const next = endKey(space);
    // An altered key may be greater than the end of its own space.
    start = next > key ? next : `${key}\0`;
  }
}

function spacesInJournal(journal: Databases['journal']): Set<Space> {
  const spaces = new Set<Space>();
  for (const { value } of journal.getRange({ start: 0 }))
    for (const [space] of (JSON.parse(value) as EntryHead).spaces) spaces.add(space);
  return spaces;
}
