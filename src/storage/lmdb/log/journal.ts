import type { Space } from '../../engine.ts';
import { countPages, type Statistics, type Store } from '../store.ts';

/** A commit in the journal. */
export interface JournalEntry {
  /** The first commit that is not completely in the leaves yet. Earlier commits have left the journal. */
  readonly first: number;
  readonly spaces: readonly SpaceEntry[];
  /** When the commit was made, in milliseconds since 1970. */
  readonly at: number;
}

/**
 * The changes of a commit in one space: count and text bytes after the commit, then alternating ids and values, null for a deleted item.
 * With `true` at the end, the commit removes the space.
 */
export type SpaceEntry = readonly [
  space: Space,
  count: number,
  textBytes: number,
  changes: readonly (string | null)[],
  isRemoved?: true,
];

export function countChanges(spaces: readonly SpaceEntry[]): number {
  return spaces.reduce((count, [, , , changes]) => count + changes.length / 2, 0);
}

/** An entry as read from the journal. */
interface ReadEntry {
  /** The number of its commit. */
  readonly commit: number;
  /** The size of the entry in characters. */
  readonly size: number;
  readonly entry: JournalEntry;
}

/** The entries of the journal from a commit on, the oldest first. Some may already be in the leaves (`ArchiveMark`). */
export function* entriesFrom({ journal }: Store, from: number): Iterable<ReadEntry> {
  for (const { key, value } of journal.getRange({ start: from }))
    yield { commit: key, size: value.length, entry: JSON.parse(value) as JournalEntry };
}

/** The numbers of the first two entries from a commit on. */
export function keysFrom({ journal }: Store, from: number): Iterable<number> {
  return journal.getKeys({ start: from, limit: 2 });
}

/** A commit of the journal as text, which continuous backup copies as it is. */
export interface EntryText {
  readonly commit: number;
  /** When the commit was made, in milliseconds since 1970. */
  readonly at: number;
  /** The spaces of the `JournalEntry`, as JSON. */
  readonly spaces: string;
}

/** The beginning of an entry as `appendEntry` writes it. */
const headPattern = /^\{"first":\d+,"at":(\d+),"spaces":/;

/** As `entriesFrom`, without parsing the changes, at a fraction of the cost. */
export function* entryTextsFrom({ journal }: Store, from: number): Iterable<EntryText> {
  for (const { key: commit, value } of journal.getRange({ start: from })) {
    const [head, at] = headPattern.exec(value) ?? [];
    if (head === undefined) throw new Error(`commit ${commit} of the journal is not well-formed`);
    yield { commit, at: Number(at), spaces: value.slice(head.length, -1) };
  }
}

/** The last entry; undefined in a store without commits. */
export function lastEntry({ journal }: Store): ReadEntry | undefined {
  const [last] = journal.getRange({ reverse: true, limit: 1 });
  if (last === undefined) return undefined;
  return { commit: last.key, size: last.value.length, entry: JSON.parse(last.value) as JournalEntry };
}

/**
 * Appends the entry of a commit, within a write transaction.
 *
 * @param first the first commit that is not completely in the leaves
 * @param spaces the spaces of the `JournalEntry`, as JSON
 * @param at when the commit was made, in milliseconds since 1970
 * @returns its size in characters
 */
export function appendEntry(
  { journal }: Store,
  commit: number,
  { first, spaces, at }: { readonly first: number; readonly spaces: string; readonly at: number },
): number {
  const entry = `{"first":${first},"at":${at},"spaces":${spaces}}`;
  const isNew: unknown = journal.putSync(commit, entry, { append: true });
  if (!isNew) throw new Error(`the journal already has commit ${commit}`);
  return entry.length;
}

/**
 * How far continuous backup has copied the journal to its target. Entries after the mark stay in the journal even when compaction has
 * moved them into the leaves, so that they can still be copied. The journal keeps at most `journalBytesMax` for this. If the target cannot
 * be reached for longer, it misses entries and needs a new snapshot, but the disk does not fill up.
 */
export interface ArchiveMark {
  /** The series of segments that this store writes. A new chain begins where commits are missing in the old one. */
  readonly chain: string;
  /** The name of the target that has the segments. */
  readonly target: string;
  /** The id of the store whose commits these are (`Format.id`): a restored or copied store begins another chain. */
  readonly store: string;
  /** The number of the last commit in a segment. */
  readonly position: number;
  /** The running checksum after that commit (`segment.ts`). */
  readonly checksum: string;
  /** The size from which on the journal keeps nothing for the target. */
  readonly journalBytesMax: number;
}

const markKey = 'mark';

/** Undefined if the store has no continuous backup. */
export function readArchiveMark({ root }: Store): ArchiveMark | undefined {
  const text = root.get(markKey);
  return text === undefined ? undefined : (JSON.parse(text) as ArchiveMark);
}

/** Call it within a write transaction. */
export function writeArchiveMark({ root }: Store, mark: ArchiveMark | undefined): void {
  if (mark === undefined) root.removeSync(markKey);
  else root.putSync(markKey, JSON.stringify(mark));
}

/**
 * Removes the entries up to a commit, except those that continuous backup has not copied yet. All of these commits must be in the leaves.
 * Call it within a write transaction.
 */
export function trimCompacted(store: Store, last: number): void {
  const mark = readArchiveMark(store);
  const end = mark === undefined || isTooLarge(store, mark) ? last : Math.min(last, mark.position);
  for (const commit of [...store.journal.getKeys({ end: end + 1 })]) store.journal.removeSync(commit);
}

function isTooLarge({ journal }: Store, { journalBytesMax }: ArchiveMark): boolean {
  const statistics = journal.getStats() as Statistics;
  return countPages(statistics) * statistics.pageSize > journalBytesMax;
}
