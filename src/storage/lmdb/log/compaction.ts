import type { Space } from '../../engine.ts';
import type { Reading } from '../file/checked-database.ts';
import { encodeId, lastLeafKey, leafKey } from '../file/databases.ts';
import { emptySortedRun, idAtIndex, itemCount, type SortedRun } from '../file/sorted-run.ts';
import { leafBytesMax } from '../limits.ts';
import type { Store } from '../store.ts';
import { trimCompacted } from './journal.ts';
import { changesIn, findLeaf, leafAfter } from './leaves.ts';
import type { ItemChange, Memtable } from './memtable.ts';
import { joined, type RunSize, withChanges } from './merge.ts';

/** A smaller leaf is merged with the next one if both together fill at most three quarters of a leaf. */
const smallLeafBytes = leafBytesMax / 4;
const joinedLeaf: RunSize = { bytesMax: (leafBytesMax * 3) / 4, filled: false };

/**
 * Moves changes from the journal into the leaves, sorted by id, in several steps. Each leaf is rewritten once for all of its changes.
 * The journal overrides the leaves and keeps all changes until the last step, so an interrupted compaction changes no result.
 */
export class Compaction {
  readonly #store: Store;
  readonly #memtable: Memtable;
  #spaces: { readonly space: Space; readonly changes: readonly ItemChange[] }[] = [];
  /** The last commit that this compaction includes. */
  #last = 0;
  #isUnderWay = false;

  constructor(store: Store, memtable: Memtable) {
    this.#store = store;
    this.#memtable = memtable;
  }

  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  begin(): void {
    this.#isUnderWay = true;
    this.#last = this.#memtable.last;
    this.#spaces = Array.from(this.#memtable.changedSpaces, (space) => ({
      space,
      changes: this.#memtable.changesOf(space),
    }));
  }

  /** Compacts about `sizeMax` characters of changes. After the last change, the commits leave the journal. */
  step(sizeMax: number): void {
    let left = sizeMax;
    while (left > 0) {
      const next = this.#spaces.pop();
      if (next === undefined) {
        this.#end();
        return;
      }
      const { space, changes } = next;
      let count = 0;
      while (count < changes.length && left > 0) left -= changeSize(changes[count++] as ItemChange);
      compactInto(this.#store, space, this.#currentChanges(space, changes.slice(0, count)));
      if (count < changes.length) this.#spaces.push({ space, changes: changes.slice(count) });
      else this.#storeRecord(space);
    }
  }

  abandon(): void {
    this.#spaces = [];
    this.#isUnderWay = false;
  }

  /** An item may have changed again since the beginning, or another process may have compacted it. */
  #currentChanges(space: Space, changes: readonly ItemChange[]): readonly ItemChange[] {
    return changes.flatMap(({ id }) => this.#memtable.change(space, id) ?? []);
  }

  #storeRecord(space: Space): void {
    const record = this.#memtable.record(space);
    if (record !== undefined) this.#store.records.putSync(space, JSON.stringify(record));
    else this.#store.records.removeSync(space);
  }

  #end(): void {
    trimCompacted(this.#store, this.#last);
    this.#memtable.dropBefore(this.#last + 1);
    this.#isUnderWay = false;
  }
}

/** The approximate size of the change in the journal, in characters. */
function changeSize({ id, value = '' }: ItemChange): number {
  return id.length + value.length + 8;
}

/** Checks each leaf: damaged content must not get a correct checksum. */
const rewriting: Reading = { isAfresh: true };

/** Applies changes, sorted by id, to the leaves. Throws DamagedValueError after it has rewritten the leaves before the damaged one. */
function compactInto(store: Store, space: Space, changes: readonly ItemChange[]): void {
  let next = 0;
  while (next < changes.length) {
    const { key, run } = findLeaf(store, space, (changes[next] as ItemChange).idBytes, rewriting);
    const changed = changesIn(key, space, changes, next);
    next += changed.length;
    // Ascending ids all go into the last leaf. The leaves that split off from it will not change again, so they are filled.
    const size = { bytesMax: leafBytesMax, filled: key === lastLeafKey(space) };
    putLeaves(store, space, key, withChanges(run, changed, size));
  }
}

function putLeaves(store: Store, space: Space, key: string, runs: SortedRun[]): void {
  const last = runs.pop();
  if (last === undefined) {
    store.leaves.removeSync(key);
    return;
  }
  for (const run of runs)
    store.leaves.putSync(leafKey(space, encodeId(idAtIndex(run, itemCount(run) - 1))), run);
  if (runs.length > 0 || last.length >= smallLeafBytes || !joinWithNext(store, space, key, last)) {
    store.leaves.putSync(key, last);
  }
}

/** @returns whether the items of the small leaf were moved into the next leaf */
function joinWithNext(store: Store, space: Space, key: string, small: SortedRun): boolean {
  const next = leafAfter(store, space, key, rewriting);
  if (next === undefined || small.length + next.run.length > joinedLeaf.bytesMax) return false;
  const [run = emptySortedRun] = joined(small, next.run, joinedLeaf);
  store.leaves.removeSync(key);
  store.leaves.putSync(next.key, run);
  return true;
}
