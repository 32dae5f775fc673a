import { isUtf8 } from 'node:buffer';
import type { Space } from '../../engine.ts';
import { type Item, itemText } from '../../item-text.ts';
import type { JournalEntry } from '../log/journal.ts';
import type { SpaceRecord, Store } from '../store.ts';
import { encodeId, leafKey, parseJson } from './databases.ts';
import {
  emptySortedRun,
  itemCount,
  itemStart,
  itemTextAt,
  runText,
  type SortedRun,
  textBytes,
} from './sorted-run.ts';

/** A leaf to check: its items belong between two keys. */
interface CheckedLeaf {
  readonly space: Space;
  readonly run: SortedRun;
  /** The greatest key before all of its items. */
  readonly before: string;
  readonly key: string;
}

/**
 * Checks the offsets, the text byte by byte, and the order of a leaf.
 *
 * @param report called with one sentence for each problem
 * @returns whether its items can be counted
 */
export function checkLeaf(
  { space, run, before, key }: CheckedLeaf,
  report: (problem: string) => void,
): boolean {
  const name = `${space}: the leaf up to ${JSON.stringify(key.slice(space.length + 1))}`;
  const broken = brokenOffset(run);
  if (broken !== undefined) {
    report(`${name} ${broken}`);
    return false;
  }
  const text = runText(run);
  // A read sends the bytes unchanged, but decoding would replace invalid ones.
  if (!isUtf8(text)) {
    report(`${name} is not UTF-8`);
    return true;
  }
  let items: readonly Partial<Item>[];
  try {
    items = JSON.parse(`[${text.toString()}]`) as readonly Partial<Item>[];
  } catch {
    report(`${name} is not well-formed JSON`);
    return false;
  }
  if (items.length !== itemCount(run))
    report(`${name} holds ${items.length} items and counts ${itemCount(run)}`);
  let last = before;
  for (const [index, item] of items.entries()) {
    const place = `${name}, item ${index}`;
    if (!isItem(item)) {
      report(`${place} is no item`);
      continue;
    }
    if (!itemTextAt(run, index).equals(Buffer.from(itemText(item.id, item.name))))
      report(`${place} is not where its offset says`);
    const itemKey = leafKey(space, encodeId(item.id));
    if (itemKey <= last || itemKey > key) report(`${place} is out of order`);
    last = itemKey;
  }
  return true;
}

function isItem(item: Partial<Item> | null): item is Item {
  return isText(item?.id) && isText(item.name);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed();
}

/** What is wrong with the count or the offsets of a leaf. */
export function brokenOffset(run: SortedRun): string | undefined {
  if (run.length < emptySortedRun.length) return 'has no count';
  if (itemCount(run) === 0) return 'is empty';
  if (textBytes(run) <= 0) return 'counts more items than it has room for';
  for (let index = 0; index < itemCount(run); index++) {
    const start = itemStart(run, index);
    const isAfterLast = index === 0 ? start === 0 : start > itemStart(run, index - 1);
    if (!isAfterLast || start >= textBytes(run)) return `has a wrong offset at item ${index}`;
  }
  return undefined;
}

/** The problem of the first unreadable entry of the journal from a commit on; undefined if all can be read. */
export function journalProblem({ journal }: Store, from: number): string | undefined {
  for (const { key, content, isIntact } of journal.inspect({ start: from })) {
    const name = journal.describe(key);
    if (!isIntact) return `${name} has a wrong checksum`;
    if (!isUtf8(content)) return `${name} is not UTF-8`;
    if (!isEntry(parseJson(content))) return `${name} is not well-formed`;
  }
  return undefined;
}

/** The problem of a space's stored record; undefined if it can be read, or there is none. */
export function recordProblem({ records }: Store, space: string): string | undefined {
  const found = records.inspectOne(space);
  if (found === undefined) return undefined;
  const { content, isIntact } = found;
  if (!isIntact) return `${records.describe(space)} has a wrong checksum`;
  return isRecord(parseJson(content)) ? undefined : `${records.describe(space)} is not well-formed`;
}

function isRecord(value: unknown): boolean {
  const { count, textBytes, generation } = (value ?? {}) as Partial<SpaceRecord>;
  return [count, textBytes, generation].every(isCount);
}

function isEntry(value: unknown): value is JournalEntry {
  const { first, at, spaces } = (value ?? {}) as Partial<JournalEntry>;
  return isCount(first) && isCount(at) && Array.isArray(spaces) && spaces.every(isSpaceEntry);
}

function isSpaceEntry(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const [space, count, textBytes, changes, isRemoved = true] = value;
  if (!isText(space) || !isCount(count) || !isCount(textBytes) || !Array.isArray(changes)) return false;
  if (isRemoved !== true) return false;
  // Ids and values alternate; a deleted item has the value null.
  const isPair = (each: unknown, index: number) => isText(each) || (index % 2 === 1 && each === null);
  return changes.length % 2 === 0 && changes.every(isPair);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
