import { isUtf8 } from 'node:buffer';
import type { JournalEntry } from '../log/journal.ts';
import type { SpaceRecord, Store } from '../store.ts';
import { isText } from './verify-leaf.ts';

/** The problem of the first entry of the journal, from a commit on, that cannot be read; undefined when all can. */
export function journalProblem({ journal }: Store, from: number): string | undefined {
  for (const { key, content, isIntact } of journal.inspect({ start: from })) {
    const name = journal.describe(key);
    if (!isIntact) return `${name} has a wrong checksum`;
    if (!isUtf8(content)) return `${name} is not UTF-8`;
    if (!isEntry(parsed(content))) return `${name} is not well-formed`;
  }
  return undefined;
}

/** The problem of a space's record, as the records have it; undefined when it can be read, or there is none. */
export function recordProblem({ records }: Store, space: string): string | undefined {
  const found = records.inspectOne(space);
  if (found === undefined) return undefined;
  const { content, isIntact } = found;
  if (!isIntact) return `${records.describe(space)} has a wrong checksum`;
  const isWellFormed = isUtf8(content) && isRecord(parsed(content));
  return isWellFormed ? undefined : `${records.describe(space)} is not well-formed`;
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): boolean {
  const { count, textBytes, generation } = (value ?? {}) as Partial<SpaceRecord>;
  return [count, textBytes, generation].every(isCount);
}

export function isEntry(value: unknown): value is JournalEntry {
  const { first, at, spaces } = (value ?? {}) as Partial<JournalEntry>;
  return isCount(first) && isCount(at) && Array.isArray(spaces) && spaces.every(isSpaceEntry);
}

function isSpaceEntry(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const [space, count, textBytes, changes, isRemoved = true] = value;
  if (!isText(space) || !isCount(count) || !isCount(textBytes) || !Array.isArray(changes)) return false;
  if (isRemoved !== true) return false;
  // Ids and values take turns; a deleted item has the value null.
  const isPair = (each: unknown, index: number) => isText(each) || (index % 2 === 1 && each === null);
  return changes.length % 2 === 0 && changes.every(isPair);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
