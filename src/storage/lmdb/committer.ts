import type { Refusal, Space, Write } from '../engine.ts';
import { type Item, itemText } from '../item-text.ts';
import { Compaction } from './compaction.ts';
import { textInLeaves } from './leaves.ts';
import { compactionShare, journalSizeMax } from './limits.ts';
import { Memtable, type SpaceEntry } from './memtable.ts';
import type { SpaceRecord, Store } from './store.ts';

export type Batch = readonly (readonly Write[])[];

const newSpace: SpaceRecord = { count: 0, textBytes: 0, generation: 0 };

interface Found {
  /** Of the item's text. */
  readonly textBytes: number;
  readonly value: () => string;
}

/** Judges commits, appends what they change to the journal and folds the journal, all within write transactions. */
export class Committer {
  readonly #store: Store;
  readonly #recent: Memtable;
  readonly #folding: Compaction;
  /** What the batch changes: ids by space. */
  #changed = new Map<Space, Set<string>>();

  constructor(store: Store) {
    this.#store = store;
    this.#recent = new Memtable(store);
    this.#folding = new Compaction(store, this.#recent);
  }

  get hasUnfolded(): boolean {
    return !this.#recent.isEmpty;
  }

  /** Within a write transaction. Throws what the store throws; `forget` is then due. */
  carryOut(batch: Batch): (Refusal | undefined)[] {
    this.#begin();
    const refusals = batch.map((writes) => this.#commit(writes));
    if (this.#changed.size > 0) {
      const spaces = JSON.stringify(this.#changedSpaces());
      this.#foldSome(spaces.length * compactionShare);
      this.#append(spaces);
    }
    return refusals;
  }

  /** Within a write transaction, when there is nothing else to do: folds changes of about so many characters. */
  fold(sizeMax: number): void {
    this.#begin();
    if (!this.hasUnfolded) return;
    if (!this.#folding.isUnderWay) this.#folding.begin();
    this.#folding.step(sizeMax);
    // Whoever reads learns from the newest entry which commits have left the journal.
    if (!this.#folding.isUnderWay) this.#append('[]');
  }

  /** After a transaction that failed: what is known may not be so. */
  forget(): void {
    this.#recent.forget();
    this.#folding.abandon();
  }

  #begin(): void {
    this.#changed = new Map();
    this.#recent.catchUp();
  }

  /** All conditions first, so that a refused commit has changed nothing. */
  #commit(writes: readonly Write[]): Refusal | undefined {
    const found = writes.map(({ space, id }) => this.#find(space, id));
    for (const [index, write] of writes.entries()) {
      const reason = this.#refusalOf(write, found[index]);
      if (reason !== undefined) return { write: index, reason };
    }
    for (const [index, write] of writes.entries()) this.#set(write, found[index]?.textBytes ?? 0);
    return undefined;
  }

  #find(space: Space, id: string): Found | undefined {
    const change = this.#recent.change(space, id);
    if (change !== undefined) {
      const { value } = change;
      if (value === undefined) return undefined;
      return { textBytes: Buffer.byteLength(itemText(id, value)), value: () => value };
    }
    if (this.#recent.record(space) === undefined) return undefined;
    const text = textInLeaves(this.#store, space, id);
    if (text === undefined) return undefined;
    const json = text.toString();
    return { textBytes: text.length, value: () => (JSON.parse(json) as Item).name };
  }

  #refusalOf(write: Write, found: Found | undefined): Refusal['reason'] | undefined {
    if (write.kind === 'create') {
      if (found !== undefined) return 'exists';
      const isMade = write.makeSpace || this.#recent.record(write.space) !== undefined;
      return isMade ? undefined : 'space_missing';
    }
    if (found === undefined) return 'missing';
    return write.ifValue === undefined || write.ifValue === found.value() ? undefined : 'differs';
  }

  #set(write: Write, textBytesBefore: number): void {
    const { space, id } = write;
    const value = write.kind === 'delete' ? undefined : write.value;
    const textBytes = value === undefined ? 0 : Buffer.byteLength(itemText(id, value));
    const commit = this.#recent.last + 1;
    const record = this.#recent.record(space) ?? newSpace;
    this.#recent.set(space, id, value, commit);
    this.#recent.setRecord(space, {
      count: record.count + Math.sign(textBytes) - Math.sign(textBytesBefore),
      textBytes: record.textBytes + textBytes - textBytesBefore,
      generation: commit,
    });
    const ids = this.#changed.get(space);
    if (ids === undefined) this.#changed.set(space, new Set([id]));
    else ids.add(id);
  }

  #foldSome(sizeMax: number): void {
    if (!this.#folding.isUnderWay) {
      if (this.#recent.journalSize < journalSizeMax) return;
      this.#folding.begin();
    }
    this.#folding.step(sizeMax);
  }

  #changedSpaces(): readonly SpaceEntry[] {
    return Array.from(this.#changed, ([space, ids]): SpaceEntry => {
      const { count, textBytes } = this.#recent.record(space) as SpaceRecord;
      const changes = Array.from(ids, (id) => [id, this.#recent.change(space, id)?.value ?? null]);
      return [space, count, textBytes, changes.flat()];
    });
  }

  /** @param spaces the `JournalEntry`'s, as JSON */
  #append(spaces: string): void {
    const commit = this.#recent.last + 1;
    const entry = `{"first":${this.#recent.first},"spaces":${spaces}}`;
    const isNew: unknown = this.#store.journal.putSync(commit, entry, { append: true });
    if (!isNew) throw new Error(`the journal already has commit ${commit}`);
    this.#recent.append(commit, entry.length);
  }
}
