import { LRUCache } from 'lru-cache';
import type { Space } from '../../engine.ts';
import { encodeId, firstKey } from '../file/databases.ts';
import type { SpaceRecord, Store } from '../store.ts';
import { countChanges, entriesFrom, keysFrom, lastEntry, type SpaceEntry } from './journal.ts';

/** The latest change of an item. */
export interface ItemChange {
  readonly id: string;
  readonly idBytes: string;
  /** Undefined when the item was deleted. */
  readonly value: string | undefined;
  readonly commit: number;
}

/** Cached records of compacted spaces. */
const cachedRecordsMax = 10_000;

/**
 * The changes in the journal, by space and id. All other items are in the leaves. Each thread has its own memtable, and updates it from
 * the journal within the transaction in which it then reads the leaves.
 */
export class Memtable {
  readonly #store: Store;
  readonly #spaces = new Map<Space, SpaceChanges>();
  /** Records of spaces with all changes in the leaves. */
  readonly #records = new LRUCache<Space, SpaceRecord>({ max: cachedRecordsMax });
  #first = 0;
  #last = 0;
  /** The journal's entries, oldest first. */
  #entries: { readonly commit: number; readonly size: number; readonly changes: number }[] = [];
  #journalSize = 0;
  #journalChanges = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The number of the last commit. */
  get last(): number {
    return this.#last;
  }

  /** The first commit that is still in the journal. */
  get first(): number {
    return this.#first;
  }

  /** Whether there is nothing to compact. */
  get isEmpty(): boolean {
    return this.#spaces.size === 0;
  }

  /** Characters in the journal. */
  get journalSize(): number {
    return this.#journalSize;
  }

  /** Changes in the journal; an item may have several. */
  get journalChanges(): number {
    return this.#journalChanges;
  }

  /**
   * Reads the new entries of the journal.
   *
   * @returns false if the transaction is older than the one to which this memtable is up to date. Changes that compaction has moved
   * meanwhile are then neither here nor in the leaves that the transaction shows
   */
  catchUp(): boolean {
    if (this.#last > 0) {
      // The newest entry never leaves the journal.
      const [known, next] = keysFrom(this.#store, this.#last);
      if (known === undefined) return false;
      if (known === this.#last && next === undefined) return true;
    }
    // The first time, skips the entries that the journal only keeps for continuous backup: they are in the leaves.
    const from = this.#last === 0 ? (lastEntry(this.#store)?.entry.first ?? 1) : this.#last + 1;
    for (const { commit, size, entry } of entriesFrom(this.#store, from)) {
      // The commits in between are already compacted, and so is everything known here. The leaves have it.
      if (commit !== this.#last + 1) this.forget();
      this.append(commit, size, countChanges(entry.spaces));
      this.apply(commit, entry.spaces);
      this.dropBefore(entry.first);
    }
    return true;
  }

  /** Applies the changes of a commit. */
  apply(commit: number, spaces: readonly SpaceEntry[]): void {
    for (const [space, count, textBytes, changes, isRemoved] of spaces) {
      for (let n = 0; n < changes.length; n += 2) {
        this.set(space, changes[n] as string, changes[n + 1] ?? undefined, commit);
      }
      if (isRemoved === true) this.removeSpace(space, commit);
      else this.setRecord(space, { count, textBytes, generation: commit });
    }
  }

  /** Records an entry of the journal. Its changes are set separately. */
  append(commit: number, size: number, changes: number): void {
    this.#last = commit;
    this.#entries.push({ commit, size, changes });
    this.#journalSize += size;
    this.#journalChanges += changes;
  }

  set(space: Space, id: string, value: string | undefined, commit: number): void {
    this.#changesFor(space).set({ id, idBytes: encodeId(id), value, commit });
  }

  /** The space must have no items. Compaction removes its record. */
  removeSpace(space: Space, commit: number): void {
    const changes = this.#changesFor(space);
    changes.record = undefined;
    changes.removedBy = commit;
  }

  #changesFor(space: Space): SpaceChanges {
    let changes = this.#spaces.get(space);
    if (changes === undefined) {
      changes = new SpaceChanges();
      this.#spaces.set(space, changes);
    }
    return changes;
  }

  setRecord(space: Space, record: SpaceRecord): void {
    const changes = this.#spaces.get(space);
    if (changes === undefined) this.#records.set(space, record);
    else {
      changes.record = record;
      changes.removedBy = undefined;
    }
  }

  change(space: Space, id: string): ItemChange | undefined {
    return this.#spaces.get(space)?.get(id);
  }

  /** Sorted by id. Later changes do not modify the array. */
  changesOf(space: Space): readonly ItemChange[] {
    return this.#spaces.get(space)?.inOrder() ?? [];
  }

  get changedSpaces(): Iterable<Space> {
    return this.#spaces.keys();
  }

  /** All spaces. */
  spaces(): Space[] {
    const compacted = Array.from(this.#store.records.getKeys({ start: firstKey }) as Iterable<Space>);
    const all = new Set([...compacted, ...this.#spaces.keys()]);
    return [...all].filter((space) => !this.isRemoved(space)).sort();
  }

  /** Whether the removal of the space is still in the journal. */
  isRemoved(space: Space): boolean {
    return this.#spaces.get(space)?.removedBy !== undefined;
  }

  record(space: Space): SpaceRecord | undefined {
    if (this.isRemoved(space)) return undefined;
    const known = this.#spaces.get(space)?.record ?? this.#records.get(space);
    if (known !== undefined) return known;
    const text = this.#store.records.get(space);
    if (text === undefined) return undefined;
    const record = JSON.parse(text) as SpaceRecord;
    this.setRecord(space, record);
    return record;
  }

  /** Drops the changes of earlier commits, which are in the leaves. */
  dropBefore(first: number): void {
    if (first <= this.#first) return;
    this.#first = first;
    const remaining = this.#entries.findIndex(({ commit }) => commit >= first);
    for (const { size, changes } of this.#entries.splice(
      0,
      remaining < 0 ? this.#entries.length : remaining,
    )) {
      this.#journalSize -= size;
      this.#journalChanges -= changes;
    }
    for (const [space, changes] of this.#spaces) {
      changes.dropBefore(first);
      if (!changes.isEmpty) continue;
      this.#spaces.delete(space);
      if (changes.record !== undefined) this.#records.set(space, changes.record);
      else this.#records.delete(space);
    }
  }

  /** Clears everything, to read it again after a failed transaction or missed entries. */
  forget(): void {
    this.#spaces.clear();
    this.#records.clear();
    this.#first = 0;
    this.#last = 0;
    this.#entries = [];
    this.#journalSize = 0;
    this.#journalChanges = 0;
  }
}

class SpaceChanges {
  /** The record after the last change. It is not stored anywhere else yet. */
  record: SpaceRecord | undefined;
  /** The commit that removed the space; undefined while the space exists. */
  removedBy: number | undefined;
  readonly #byId = new Map<string, ItemChange>();
  #inOrder: readonly ItemChange[] = [];
  /** Ids added since the changes were last sorted. */
  #newIds: string[] = [];
  #isInOrder = true;

  get isEmpty(): boolean {
    return this.#byId.size === 0 && this.removedBy === undefined;
  }

  get(id: string): ItemChange | undefined {
    return this.#byId.get(id);
  }

  set(change: ItemChange): void {
    const count = this.#byId.size;
    this.#byId.set(change.id, change);
    if (this.#byId.size > count) this.#newIds.push(change.id);
    this.#isInOrder = false;
  }

  dropBefore(first: number): void {
    if (this.removedBy !== undefined && this.removedBy < first) this.removedBy = undefined;
    for (const { id, commit } of this.#byId.values()) {
      if (commit < first) this.#byId.delete(id);
    }
    this.#inOrder = this.#inOrder.filter(({ id }) => this.#byId.has(id));
    this.#newIds = this.#newIds.filter((id) => this.#byId.has(id));
  }

  inOrder(): readonly ItemChange[] {
    if (this.#isInOrder) return this.#inOrder;
    const known = this.#inOrder.map(({ id }) => this.#byId.get(id) as ItemChange);
    const added = this.#newIds.map((id) => this.#byId.get(id) as ItemChange).sort(byId);
    // Both parts are sorted, so this sort is one pass.
    this.#inOrder = [...known, ...added].sort(byId);
    this.#newIds = [];
    this.#isInOrder = true;
    return this.#inOrder;
  }
}

function byId(a: ItemChange, b: ItemChange): number {
  if (a.idBytes === b.idBytes) return 0;
  return a.idBytes < b.idBytes ? -1 : 1;
}
