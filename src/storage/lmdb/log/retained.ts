import type { Statistics, Store } from '../store.ts';

/**
 * Continuous backup copies the entries of the journal to its target. So while a store has a mark of how far that has come, the
 * entries behind it stay in the journal also when they are in the leaves, up to a bound: a target that is away for long costs a
 * gap and a new snapshot, and never the disk.
 */
export interface Shipped {
  /** The series of segments that this store writes. A new one begins where commits are missing in the old one. */
  readonly chain: string;
  /** Where the segments are. */
  readonly target: string;
  /** The store whose commits they are (`Format.id`): a restored or copied store begins another chain. */
  readonly store: string;
  /** The number of the last commit in a segment. */
  readonly position: number;
  /** The running checksum of the commits up to it (`segment.ts`). */
  readonly checksum: string;
  /** Bytes of the journal beyond which it keeps nothing for the target. */
  readonly journalBytesMax: number;
}

const key = 'shipped';

/** Undefined if the store has no continuous backup. */
export function shippedOf({ root }: Store): Shipped | undefined {
  const text = root.get(key);
  return text === undefined ? undefined : (JSON.parse(text) as Shipped);
}

/** Call it within a write transaction. */
export function noteShipped({ root }: Store, shipped: Shipped | undefined): void {
  if (shipped === undefined) root.removeSync(key);
  else root.putSync(key, JSON.stringify(shipped));
}

/** Removes the entries up to a commit, all of which are in the leaves, but for those to keep. Call it within a write transaction. */
export function dropFolded(store: Store, last: number): void {
  const shipped = shippedOf(store);
  const end = shipped === undefined || isTooMuch(store, shipped) ? last : Math.min(last, shipped.position);
  for (const commit of [...store.journal.getKeys({ end: end + 1 })]) store.journal.removeSync(commit);
}

function isTooMuch({ journal }: Store, { journalBytesMax }: Shipped): boolean {
  const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } =
    journal.getStats() as Statistics;
  return (treeBranchPageCount + treeLeafPageCount + overflowPages) * pageSize > journalBytesMax;
}
