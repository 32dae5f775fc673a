import type { Space } from '../engine.ts';
import { changesIn, leafAfter, leafOf } from './leaves.ts';
import { leafBytesMax } from './limits.ts';
import type { Change, Memtable } from './memtable.ts';
import { joined, type RunSize, withChanges } from './merge.ts';
import { countOf, emptySortedRun, idAtIndex, type SortedRun } from './sorted-run.ts';
import { bytesOf, lastLeafKey, leafKey, type Store } from './store.ts';

/** A smaller leaf is joined with the next one, if both together fill at most three quarters of a leaf. */
const smallLeafBytes = leafBytesMax / 4;
const joinedLeaf: RunSize = { bytesMax: (leafBytesMax * 3) / 4, filled: false };

/**
 * Moves changes from the journal into the leaves, in the order of their ids and in as many steps as it is called
 * for: a leaf is rewritten once for all the changes that have gathered for it. Until the last step the journal keeps
 * them all, and what the journal says goes before what the leaves say, so that a step more or less changes nothing.
 */
export class Compaction {
  readonly #store: Store;
  readonly #recent: Memtable;
  #spaces: { readonly space: Space; readonly changes: readonly Change[] }[] = [];
  /** What is folded at the end: all commits up to this one. */
  #last = 0;
  #isUnderWay = false;

  constructor(store: Store, recent: Memtable) {
    this.#store = store;
    this.#recent = recent;
  }

  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  begin(): void {
    this.#isUnderWay = true;
    this.#last = this.#recent.last;
    this.#spaces = Array.from(this.#recent.changedSpaces, (space) => ({
      space,
      changes: this.#recent.changesOf(space),
    }));
  }

  /** Folds changes of about so many characters. When all are folded, their commits leave the journal. */
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
      while (count < changes.length && left > 0) left -= sizeOf(changes[count++] as Change);
      compactInto(this.#store, space, this.#asTheyAre(space, changes.slice(0, count)));
      if (count < changes.length) this.#spaces.push({ space, changes: changes.slice(count) });
      else this.#foldRecord(space);
    }
  }

  abandon(): void {
    this.#spaces = [];
    this.#isUnderWay = false;
  }

  /** Since the folding began an item may have changed anew, or another process may have folded it. */
  #asTheyAre(space: Space, changes: readonly Change[]): readonly Change[] {
    return changes.flatMap(({ id }) => this.#recent.change(space, id) ?? []);
  }

  #foldRecord(space: Space): void {
    const record = this.#recent.record(space);
    if (record !== undefined) this.#store.records.putSync(space, JSON.stringify(record));
  }

  #end(): void {
    for (let commit = this.#recent.first; commit <= this.#last; commit++) {
      this.#store.journal.removeSync(commit);
    }
    this.#recent.dropBefore(this.#last + 1);
    this.#isUnderWay = false;
  }
}

/** In characters, about what the change takes in the journal. */
function sizeOf({ id, value = '' }: Change): number {
  return id.length + value.length + 8;
}

/** Applies changes, in the order of their ids, to the leaves. */
export function compactInto(store: Store, space: Space, changes: readonly Change[]): void {
  let next = 0;
  while (next < changes.length) {
    const { key, run } = leafOf(store, space, (changes[next] as Change).idBytes);
    const changed = changesIn(key, space, changes, next);
    next += changed.length;
    // Ids that only grow all come into the last leaf: what it sheds will not change again, and is filled.
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
    store.leaves.putSync(leafKey(space, bytesOf(idAtIndex(run, countOf(run) - 1))), run);
  if (runs.length > 0 || last.length >= smallLeafBytes || !joinWithNext(store, space, key, last)) {
    store.leaves.putSync(key, last);
  }
}

/** @returns whether the next leaf has taken the items of a small one */
function joinWithNext(store: Store, space: Space, key: string, small: SortedRun): boolean {
  const next = leafAfter(store, space, key);
  if (next === undefined || small.length + next.run.length > joinedLeaf.bytesMax) return false;
  const [run = emptySortedRun] = joined(small, next.run, joinedLeaf);
  store.leaves.removeSync(key);
  store.leaves.putSync(next.key, run);
  return true;
}
