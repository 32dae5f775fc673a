import { fstatSync, readSync } from 'node:fs';
import type { Space } from '../../../engine.ts';
import type { JournalEntry } from '../../log/journal.ts';
import type { SpaceRecord } from '../../store.ts';
import { isIntact, stripChecksum } from '../checked-database.ts';
import { parseJson, parseSpace } from '../databases.ts';
import { formatKey } from '../format.ts';
import { catchBroken, PageCheck } from '../page-check.ts';
import {
  headerBytes,
  inNode,
  inOverflow,
  inPage,
  nodeFlags,
  pageBytes,
  pageFlags,
  pageKinds,
  readHeads,
  readNumber,
} from '../pages.ts';

/** A leaf with a correct checksum. */
export interface SalvagedLeaf {
  readonly key: string;
  /** Reads the leaf again: the leaves together may not fit into memory. */
  readonly read: () => Buffer;
  /** The transaction that wrote it. */
  readonly transaction: number;
}

export interface Salvaged {
  /** Sorted by key. */
  readonly leaves: readonly SalvagedLeaf[];
  readonly journal: ReadonlyMap<number, JournalEntry>;
  readonly records: ReadonlyMap<Space, SpaceRecord>;
  /** The store's description of its format; undefined if that is lost. */
  readonly description: string | undefined;
  /** Keys of leaves whose content is damaged. */
  readonly damagedLeaves: readonly string[];
  /** What is wrong with the structure of the file; undefined if it is whole. */
  readonly problem: string | undefined;
  /** Whether deleted or replaced values may be among those that were found. */
  readonly mayBeOld: boolean;
}

const spacePattern = /^(table|service):./;
const journalKeyBytes = 6;
const formatKeyBytes = Buffer.from(formatKey);

/**
 * Finds what can be read in the file of a store. It works without LMDB, which may crash on a damaged file: it looks at every page that
 * may be in use, whether a tree leads to it or not, and takes each entry with a correct checksum. The key is part of the checksum, so
 * nothing else is taken for an entry.
 *
 * @param file a store that is open for reading, and that nothing writes to
 */
export function salvage(file: number): Salvaged {
  const { problem, isFreeListKnown, mayBeUsed } = findPages(file);
  const scan = new PageScan();
  for (const entry of readPageEntries(file, mayBeUsed)) scan.take(entry);
  return { ...scan.found(), problem, mayBeOld: !isFreeListKnown };
}

interface Versioned<Value> {
  readonly value: Value;
  readonly transaction: number;
}

class PageScan {
  readonly #leaves = new Map<string, Versioned<() => Buffer>>();
  readonly #journal = new Map<number, JournalEntry>();
  readonly #records = new Map<Space, Versioned<SpaceRecord>>();
  readonly #damaged = new Set<string>();
  readonly #descriptions = new Map<string, Versioned<string>>();

  found(): Pick<Salvaged, 'leaves' | 'journal' | 'records' | 'description' | 'damagedLeaves'> {
    const leaves = Array.from(this.#leaves, ([key, { value, transaction }]) => ({
      key,
      read: value,
      transaction,
    }));
    return {
      leaves: leaves.sort((a, b) => (a.key < b.key ? -1 : 1)),
      journal: this.#journal,
      records: new Map(Array.from(this.#records, ([space, { value }]) => [space, value] as const)),
      description: this.#descriptions.get(formatKey)?.value,
      damagedLeaves: [...this.#damaged].filter((key) => !this.#leaves.has(key)).sort(),
    };
  }

  take({ key, read, transaction }: PageEntry): void {
    if (key.equals(formatKeyBytes)) {
      keepLatest(this.#descriptions, formatKey, { value: read().toString(), transaction });
      return;
    }
    const text = key.toString('latin1');
    const space = parseSpace(text);
    if (spacePattern.test(text) && text.length > space.length) this.#takeLeaf(text, read, transaction);
    else if (spacePattern.test(text)) {
      const record = readStoredJson(text, read());
      if (record !== undefined)
        keepLatest(this.#records, space, { value: record as SpaceRecord, transaction });
    } else if (key.length === journalKeyBytes) {
      const commit = key.readUIntBE(0, journalKeyBytes);
      const entry = readStoredJson(commit, read());
      if (entry !== undefined) this.#journal.set(commit, entry as JournalEntry);
    }
  }

  #takeLeaf(key: string, read: () => Buffer, transaction: number): void {
    if (isIntact(key, read()))
      keepLatest(this.#leaves, key, { value: () => stripChecksum(read()), transaction });
    else this.#damaged.add(key);
  }
}

/** Undefined if the value is damaged. */
function readStoredJson(key: string | number, stored: Buffer): unknown {
  return isIntact(key, stored) ? parseJson(stripChecksum(stored)) : undefined;
}

/** The page that was written last has the last state of a key. */
function keepLatest<Key, Value>(all: Map<Key, Versioned<Value>>, key: Key, found: Versioned<Value>): void {
  const before = all.get(key);
  if (before === undefined || before.transaction < found.transaction) all.set(key, found);
}

/** A possible entry of a database: its page may be damaged. */
interface PageEntry {
  readonly key: Buffer;
  /** Reads the value again: the values together may not fit into memory. */
  readonly read: () => Buffer;
  /** The transaction that wrote the page. */
  readonly transaction: number;
}

/** Reads the entries of all leaf pages in a file, whether a tree leads to them or not. */
function* readPageEntries(file: number, mayBeUsed: (page: number) => boolean): Generator<PageEntry> {
  const fileBytes = fstatSync(file).size;
  const page = Buffer.alloc(pageBytes);
  for (let number = 2; number < Math.floor(fileBytes / pageBytes); number++) {
    if (!mayBeUsed(number)) continue;
    readSync(file, page, 0, pageBytes, number * pageBytes);
    const isLeaf = (page.readUInt16LE(inPage.flags) & pageKinds) === pageFlags.leaf;
    if (!isLeaf || readNumber(page, inPage.number) !== number) continue;
    const transaction = readNumber(page, inPage.transaction);
    const end = Math.min(headerBytes + page.readUInt16LE(inPage.lower), pageBytes - 1);
    for (let at = headerBytes; at < end; at += 2) {
      const entry = entryAt({ file, fileBytes, page }, headerBytes + page.readUInt16LE(at));
      if (entry !== undefined) yield { ...entry, transaction };
    }
  }
}

interface LeafPage {
  readonly file: number;
  readonly fileBytes: number;
  readonly page: Buffer;
}

function entryAt(
  { file, fileBytes, page }: LeafPage,
  node: number,
): Pick<PageEntry, 'key' | 'read'> | undefined {
  const keyAt = node + inNode.key;
  if (keyAt > pageBytes) return undefined;
  const dataAt = keyAt + page.readUInt16LE(node + inNode.keyBytes);
  const bytes = page.readUInt32LE(node + inNode.low);
  const isBig = (page.readUInt16LE(node + inNode.flags) & nodeFlags.bigData) !== 0;
  if (dataAt + (isBig ? inOverflow.bytes : bytes) > pageBytes) return undefined;
  const key = Buffer.from(page.subarray(keyAt, dataAt));
  if (!isBig) {
    const value = Buffer.from(page.subarray(dataAt, dataAt + bytes));
    return { key, read: () => value };
  }
  const at = readNumber(page, dataAt + inOverflow.page) * pageBytes + headerBytes;
  return { key, read: () => readFileBytes(file, at, at + bytes <= fileBytes ? bytes : 0) };
}

function readFileBytes(file: number, at: number, bytes: number): Buffer {
  const value = Buffer.alloc(bytes);
  readSync(file, value, 0, bytes, at);
  return value;
}

/** What is known about the pages of a file that may be damaged. */
interface KnownPages {
  /** What is wrong with its structure, as the end of a sentence; undefined if it is whole. */
  readonly problem: string | undefined;
  /** Whether it is known which pages are free. */
  readonly isFreeListKnown: boolean;
  /** Whether a page may be part of the store. False for a free page, which may hold deleted values. */
  readonly mayBeUsed: (page: number) => boolean;
}

/** Call it while nothing can write. */
function findPages(file: number): KnownPages {
  const heads = readHeads(file);
  if (heads === undefined)
    return { problem: 'it has no valid meta pages', isFreeListKnown: false, mayBeUsed: () => true };
  const checkAfter = (run: (check: PageCheck) => void) => {
    let check: PageCheck | undefined;
    const problem = catchBroken(() => {
      check = new PageCheck(file, heads);
      run(check);
    });
    return { check, problem };
  };
  const { check, problem } = checkAfter((each) => each.run());
  if (problem === undefined)
    return { problem, isFreeListKnown: true, mayBeUsed: (page) => check?.isUsedBy('tree', page) === true };
  const free = checkAfter((each) => each.checkFreeList());
  const isFreeListKnown = free.problem === undefined;
  return {
    ...{ problem, isFreeListKnown },
    mayBeUsed: (page) => !isFreeListKnown || free.check?.isUsedBy('free', page) !== true,
  };
}
