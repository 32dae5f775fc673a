import { isUtf8 } from 'node:buffer';
import type { Space } from '../../../engine.ts';
import type { JournalEntry } from '../../log/journal.ts';
import type { SpaceRecord } from '../../store.ts';
import { contentOf, isIntact } from '../checked-database.ts';
import { spaceOf } from '../databases.ts';
import { formatKey } from '../format.ts';
import { entriesIn, knownPages, type PageEntry } from './salvaged-pages.ts';

/** A leaf whose checksum is right. */
export interface SalvagedLeaf {
  readonly key: string;
  /** Reads it again, so that not all are in memory. */
  readonly read: () => Buffer;
  /** The transaction that wrote it. */
  readonly transaction: number;
}

export interface Salvaged {
  /** In the order of their keys. */
  readonly leaves: readonly SalvagedLeaf[];
  readonly journal: ReadonlyMap<number, JournalEntry>;
  readonly records: ReadonlyMap<Space, SpaceRecord>;
  /** What the store says of its format; undefined when that is lost. */
  readonly description: string | undefined;
  /** Keys of leaves whose content is damaged. */
  readonly damagedLeaves: readonly string[];
  /** What is wrong with the structure of the file; undefined when it is whole. */
  readonly problem: string | undefined;
  /** Whether values that were deleted or replaced may be among those that were found. */
  readonly mayBeOld: boolean;
}

const spacePattern = /^(table|service):./;
const journalKeyBytes = 6;
const formatKeyBytes = Buffer.from(formatKey);

/**
 * Finds what can be read in the file of a store, without LMDB, which may crash on a damaged one: looks at every page of the file
 * that may be in use, whether a tree leads to it or not, and takes each entry whose checksum is right. The key is part of the
 * checksum, so that nothing else is taken for an entry.
 *
 * @param file a store, open to be read, that nothing writes to
 */
export function salvage(file: number): Salvaged {
  const { problem, isFreeListKnown, mayBeUsed } = knownPages(file);
  const scan = new Scan();
  for (const entry of entriesIn(file, mayBeUsed)) scan.take(entry);
  return { ...scan.found(), problem, mayBeOld: !isFreeListKnown };
}

interface Found<Value> {
  readonly value: Value;
  readonly transaction: number;
}

class Scan {
  readonly #leaves = new Map<string, Found<() => Buffer>>();
  readonly #journal = new Map<number, JournalEntry>();
  readonly #records = new Map<Space, Found<SpaceRecord>>();
  readonly #damaged = new Set<string>();
  readonly #descriptions = new Map<string, Found<string>>();

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
      keepNewest(this.#descriptions, formatKey, { value: read().toString(), transaction });
      return;
    }
    const text = key.toString('latin1');
    const space = spaceOf(text);
    if (spacePattern.test(text) && text.length > space.length) this.#takeLeaf(text, read, transaction);
    else if (spacePattern.test(text)) {
      const record = jsonIn(text, read());
      if (record !== undefined)
        keepNewest(this.#records, space, { value: record as SpaceRecord, transaction });
    } else if (key.length === journalKeyBytes) {
      const commit = key.readUIntBE(0, journalKeyBytes);
      const entry = jsonIn(commit, read());
      if (entry !== undefined) this.#journal.set(commit, entry as JournalEntry);
    }
  }

  #takeLeaf(key: string, read: () => Buffer, transaction: number): void {
    if (isIntact(key, read())) keepNewest(this.#leaves, key, { value: () => contentOf(read()), transaction });
    else this.#damaged.add(key);
  }
}

/** Undefined when it is damaged. */
function jsonIn(key: string | number, stored: Buffer): unknown {
  return isIntact(key, stored) ? parsedOrNothing(contentOf(stored)) : undefined;
}

function parsedOrNothing(json: Buffer): unknown {
  try {
    return isUtf8(json) ? JSON.parse(json.toString()) : undefined;
  } catch {
    return undefined;
  }
}

/** A page that was written later has the later state of a key. */
function keepNewest<Key, Value>(all: Map<Key, Found<Value>>, key: Key, found: Found<Value>): void {
  const before = all.get(key);
  if (before === undefined || before.transaction < found.transaction) all.set(key, found);
}
