import type { Space } from '../engine.ts';
import { bytesOf, firstKey, type SpaceRecord, type Store } from './store.ts';

/** A commit as the journal has it. */
export interface JournalEntry {
  /** The first commit whose changes are not all in the leaves yet; what came before has left the journal. */
  readonly first: number;
  readonly spaces: readonly SpaceEntry[];
}
/** Count and text bytes as of this commit, then the changes: ids and values in turns, null for a deleted item. */
export type SpaceEntry = readonly [
  space: Space,
  count: number,
  textBytes: number,
  changes: readonly (string | null)[],
];

/** What an item was last changed to. */
export interface Change {
  readonly id: string;
  readonly idBytes: string;
  /** Undefined: it was deleted. */
  readonly value: string | undefined;
  readonly commit: number;
}

/** Records of folded spaces kept in memory; beyond it they are read again. */
const keptRecordsMax = 10_000;

/**
 * What the journal says, by space and id; the leaves say the rest. Each thread keeps its own, and catches up with
 * the journal within the transaction in which it then reads the leaves.
 */
export class Memtable {
  readonly #store: Store;
  readonly #spaces = new Map<Space, SpaceChanges>();
  /** Of spaces whose changes are all in the leaves. */
  readonly #records = new Map<Space, SpaceRecord>();
  #first = 0;
  #last = 0;
  /** Of each entry in the journal, the oldest first. */
  #entries: { readonly commit: number; readonly size: number }[] = [];
  #journalSize = 0;

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

  /** Whether there is anything to be folded. */
  get isEmpty(): boolean {
    return this.#spaces.size === 0;
  }

  /** Characters of what the journal holds. */
  get journalSize(): number {
    return this.#journalSize;
  }

  /** Reads what the journal has got since. */
  catchUp(): void {
    for (const { key, value } of this.#store.journal.getRange({ start: this.#last + 1 })) {
      // Commits in between have come and gone, and with them all that was known here: it is in the leaves.
      if (key !== this.#last + 1) this.forget();
      this.append(key, value.length);
      const { first, spaces } = JSON.parse(value) as JournalEntry;
      for (const [space, count, textBytes, changes] of spaces) {
        for (let n = 0; n < changes.length; n += 2) {
          this.set(space, changes[n] as string, changes[n + 1] ?? undefined, key);
        }
        this.setRecord(space, { count, textBytes, generation: key });
      }
      this.dropBefore(first);
    }
  }

  /** Notes an entry of the journal; its changes are set by themselves. */
  append(commit: number, size: number): void {
    this.#last = commit;
    this.#entries.push({ commit, size });
    this.#journalSize += size;
  }

  set(space: Space, id: string, value: string | undefined, commit: number): void {
    let changes = this.#spaces.get(space);
    if (changes === undefined) {
      changes = new SpaceChanges();
      this.#spaces.set(space, changes);
    }
    changes.set({ id, idBytes: bytesOf(id), value, commit });
  }

  setRecord(space: Space, record: SpaceRecord): void {
    const changes = this.#spaces.get(space);
    if (changes !== undefined) changes.record = record;
    else this.#keepRecord(space, record);
  }

  change(space: Space, id: string): Change | undefined {
    return this.#spaces.get(space)?.get(id);
  }

  /** In the order of the ids. The array stays as it is when more is set. */
  changesOf(space: Space): readonly Change[] {
    return this.#spaces.get(space)?.inOrder() ?? [];
  }

  get changedSpaces(): Iterable<Space> {
    return this.#spaces.keys();
  }

  /** Every space that there is. */
  spaces(): Space[] {
    const folded = Array.from(this.#store.records.getKeys({ start: firstKey }) as Iterable<Space>);
    return [...new Set([...folded, ...this.#spaces.keys()])].sort();
  }

  record(space: Space): SpaceRecord | undefined {
    const known = this.#spaces.get(space)?.record ?? this.#records.get(space);
    if (known !== undefined) return known;
    const text = this.#store.records.get(space);
    if (text === undefined) return undefined;
    const record = JSON.parse(text) as SpaceRecord;
    this.setRecord(space, record);
    return record;
  }

  /** Lets go of what commits before this one changed: it is in the leaves. */
  dropBefore(first: number): void {
    if (first <= this.#first) return;
    this.#first = first;
    const kept = this.#entries.findIndex(({ commit }) => commit >= first);
    for (const { size } of this.#entries.splice(0, kept < 0 ? this.#entries.length : kept))
      this.#journalSize -= size;
    for (const [space, changes] of this.#spaces) {
      changes.dropBefore(first);
      if (!changes.isEmpty) continue;
      this.#spaces.delete(space);
      if (changes.record !== undefined) this.#keepRecord(space, changes.record);
    }
  }

  #keepRecord(space: Space, record: SpaceRecord): void {
    if (this.#records.size >= keptRecordsMax) this.#records.clear();
    this.#records.set(space, record);
  }

  /** All is read again: after a transaction that came to nothing, or when something was missed. */
  forget(): void {
    this.#spaces.clear();
    this.#records.clear();
    this.#first = 0;
    this.#last = 0;
    this.#entries = [];
    this.#journalSize = 0;
  }
}

class SpaceChanges {
  /** As of the last of the changes: nobody else may know it yet. */
  record: SpaceRecord | undefined;
  readonly #byId = new Map<string, Change>();
  #inOrder: readonly Change[] = [];
  /** Ids that came since the changes were last put in order. */
  #newIds: string[] = [];
  #isInOrder = true;

  get isEmpty(): boolean {
    return this.#byId.size === 0;
  }

  get(id: string): Change | undefined {
    return this.#byId.get(id);
  }

  set(change: Change): void {
    if (!this.#byId.has(change.id)) this.#newIds.push(change.id);
    this.#byId.set(change.id, change);
    this.#isInOrder = false;
  }

  dropBefore(first: number): void {
    for (const { id, commit } of this.#byId.values()) {
      if (commit < first) this.#byId.delete(id);
    }
    this.#inOrder = this.#inOrder.filter(({ id }) => this.#byId.has(id));
    this.#newIds = this.#newIds.filter((id) => this.#byId.has(id));
  }

  inOrder(): readonly Change[] {
    if (this.#isInOrder) return this.#inOrder;
    const known = this.#inOrder.map(({ id }) => this.#byId.get(id) as Change);
    const added = this.#newIds.map((id) => this.#byId.get(id) as Change).sort(byId);
    // Two ordered rows one behind the other: sorting them is one pass.
    this.#inOrder = [...known, ...added].sort(byId);
    this.#newIds = [];
    this.#isInOrder = true;
    return this.#inOrder;
  }
}

function byId(a: Change, b: Change): number {
  if (a.idBytes === b.idBytes) return 0;
  return a.idBytes < b.idBytes ? -1 : 1;
}
