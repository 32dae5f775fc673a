import type { Space } from '../engine.ts';
import { bytesOf, type SpaceRecord, type Store } from './store.ts';

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

/** Records kept in memory; beyond it they are read again. */
const keptRecordsMax = 10_000;

/**
 * What the journal says, by space and id; the leaves say the rest. Each thread keeps its own, and catches up with
 * the journal within the transaction in which it then reads the leaves.
 */
export class Recent {
  readonly #store: Store;
  readonly #spaces = new Map<Space, SpaceChanges>();
  readonly #records = new Map<Space, SpaceRecord>();
  #first = 0;
  #last = 0;
  #size = 0;

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

  /** How much is to be folded: characters of ids and values, and a few for each change. */
  get size(): number {
    return this.#size;
  }

  /** Reads what the journal has got since. */
  catchUp(): void {
    for (const { key, value } of this.#store.journal.getRange({ start: this.#last + 1 })) {
      // Commits in between have come and gone, and what they changed is not known.
      if (key !== this.#last + 1) this.#records.clear();
      this.#last = key;
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

  /** Notes a commit of one's own; its changes are set already. */
  append(commit: number): void {
    this.#last = commit;
  }

  set(space: Space, id: string, value: string | undefined, commit: number): void {
    let changes = this.#spaces.get(space);
    if (changes === undefined) {
      changes = new SpaceChanges();
      this.#spaces.set(space, changes);
    }
    this.#size += changes.set({ id, idBytes: bytesOf(id), value, commit });
  }

  setRecord(space: Space, record: SpaceRecord): void {
    if (this.#records.size >= keptRecordsMax) this.#records.clear();
    this.#records.set(space, record);
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

  record(space: Space): SpaceRecord | undefined {
    const known = this.#records.get(space);
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
    for (const [space, changes] of this.#spaces) {
      this.#size -= changes.dropBefore(first);
      if (changes.isEmpty) this.#spaces.delete(space);
    }
  }

  /** For a transaction that came to nothing: all is read again. */
  forget(): void {
    this.#spaces.clear();
    this.#records.clear();
    this.#first = 0;
    this.#last = 0;
    this.#size = 0;
  }
}

/** What a change weighs beside its strings. */
const changeSize = 64;

class SpaceChanges {
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

  /** @returns by how much the size grew */
  set(change: Change): number {
    const before = this.#byId.get(change.id);
    if (before === undefined) this.#newIds.push(change.id);
    this.#byId.set(change.id, change);
    this.#isInOrder = false;
    return sizeOf(change) - (before === undefined ? 0 : sizeOf(before));
  }

  /** @returns by how much the size shrank */
  dropBefore(first: number): number {
    let size = 0;
    for (const change of this.#byId.values()) {
      if (change.commit >= first) continue;
      this.#byId.delete(change.id);
      size += sizeOf(change);
    }
    this.#inOrder = this.#inOrder.filter(({ id }) => this.#byId.has(id));
    this.#newIds = this.#newIds.filter((id) => this.#byId.has(id));
    return size;
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

function sizeOf({ id, value = '' }: Change): number {
  return id.length + value.length + changeSize;
}

function byId(a: Change, b: Change): number {
  if (a.idBytes === b.idBytes) return 0;
  return a.idBytes < b.idBytes ? -1 : 1;
}
