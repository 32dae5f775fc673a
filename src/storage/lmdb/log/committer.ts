import type { Write as PortWrite, Rejection, Space } from '../../engine.ts';
import { type Item, itemText } from '../../item-text.ts';
import { DamagedValueError } from '../file/checked-database.ts';
import {
  compactionShare,
  compactionStepSize,
  journalChangesMax,
  journalSizeMax,
  journalSizeStoppedMax,
} from '../limits.ts';
import type { SpaceRecord, Store } from '../store.ts';
import { Compaction } from './compaction.ts';
import { appendEntry, countChanges, type SpaceEntry } from './journal.ts';
import { LeafLookup } from './leaves.ts';
import { Memtable } from './memtable.ts';

/** Removes a space; fails with `exists` while the space has items. The id is empty, which no item's id is. */
export interface SpaceRemovalWrite {
  readonly kind: 'remove';
  readonly space: Space;
  readonly id: '';
}
export type Write = PortWrite | SpaceRemovalWrite;
export type Batch = readonly (readonly Write[])[];
/**
 * The result of a commit: undefined if it was made, `full` if the disk has no room for it, `damaged` if a value that its conditions
 * depend on cannot be read.
 */
export type CommitResult = Rejection | 'full' | 'damaged' | undefined;

const newSpace: SpaceRecord = { count: 0, textBytes: 0, generation: 0 };

interface FoundItem {
  /** Bytes of the item's text. */
  readonly textBytes: number;
  readonly value: () => string;
}

/** Checks commits, appends their changes to the journal and compacts the journal, all within write transactions. */
export class Committer {
  readonly #store: Store;
  readonly #memtable: Memtable;
  readonly #compaction: Compaction;
  readonly #leaves: LeafLookup;
  /** The changes of the batch by space: values by id, null for a deleted item. */
  #changed = new Map<Space, Map<string, string | null>>();
  /** Whether compaction has met damage. The next start tries again. */
  #isCompactionStopped = false;

  constructor(store: Store) {
    this.#store = store;
    this.#memtable = new Memtable(store);
    this.#compaction = new Compaction(store, this.#memtable);
    this.#leaves = new LeafLookup(store);
  }

  get lastCommit(): number {
    return this.#memtable.last;
  }

  /** Whether there are changes to compact, and compaction has met no damage. */
  get canCompact(): boolean {
    return !this.#memtable.isEmpty && !this.#isCompactionStopped;
  }

  /**
   * Makes the commits of a batch. Call it within a write transaction. If it throws a store error, call `forget`.
   *
   * @param mayGrow whether to make commits that do not free space
   */
  carryOut(batch: Batch, mayGrow = true): CommitResult[] {
    this.#begin();
    if (this.#isCompactionStopped && this.#memtable.journalSize > journalSizeStoppedMax)
      throw new DamagedValueError(
        'a leaf that compaction needs has a wrong checksum, and the journal is full',
      );
    const results = batch.map((writes) => this.#commitUnlessDamaged(writes, mayGrow));
    if (this.#changed.size > 0) {
      const changed = this.#changedSpaces();
      const spaces = JSON.stringify(changed);
      this.#compactSome(spaces.length * compactionShare);
      this.#append(spaces, countChanges(changed));
    } else if (!mayGrow) {
      // A series of rejected commits must not prevent compaction, which makes room for them.
      this.#compactNow(compactionStepSize);
    }
    return results;
  }

  /** Compacts about `sizeMax` characters of changes. Call it within a write transaction while the store is idle. */
  compactIdle(sizeMax: number): void {
    this.#begin();
    this.#compactNow(sizeMax);
  }

  #compactNow(sizeMax: number): void {
    if (!this.canCompact) return;
    if (!this.#compaction.isUnderWay) this.#compaction.begin();
    this.#compactStep(sizeMax);
    // Readers see in the newest entry which commits have left the journal.
    if (!this.#compaction.isUnderWay && !this.#isCompactionStopped) this.#append('[]', 0);
  }

  /**
   * A leaf with a wrong checksum is not written again. So its changes must stay in the journal, and with them all later ones. The leaves
   * before it are then in both places, which changes no result.
   */
  #compactStep(sizeMax: number): void {
    try {
      this.#compaction.step(sizeMax);
    } catch (error) {
      if (!(error instanceof DamagedValueError)) throw error;
      this.#compaction.abandon();
      this.#isCompactionStopped = true;
    }
  }

  /** Call it after a failed transaction: the state in memory may be wrong. */
  forget(): void {
    this.#memtable.forget();
    this.#compaction.abandon();
  }

  #begin(): void {
    this.#changed = new Map();
    this.#leaves.forget();
    if (!this.#memtable.catchUp()) throw new Error('the store lacks its last commits');
  }

  /** A damaged leaf fails only the commits that need it. */
  #commitUnlessDamaged(writes: readonly Write[], mayGrow: boolean): CommitResult {
    try {
      return this.#commit(writes, mayGrow);
    } catch (error) {
      if (error instanceof DamagedValueError) return 'damaged';
      throw error;
    }
  }

  /** Checks all conditions first, so that a rejected commit changes nothing. */
  #commit(writes: readonly Write[], mayGrow: boolean): CommitResult {
    const found = writes.map(({ space, id }) => this.#find(space, id));
    for (const [index, write] of writes.entries()) {
      const reason = this.#findRejection(write, found[index]);
      if (reason !== undefined) return { write: index, reason };
    }
    if (!mayGrow && !freesSpace(writes, found)) return 'full';
    for (const [index, write] of writes.entries()) this.#set(write, found[index]?.textBytes ?? 0);
    return undefined;
  }

  #find(space: Space, id: string): FoundItem | undefined {
    const change = this.#memtable.change(space, id);
    if (change !== undefined) {
      const { value } = change;
      if (value === undefined) return undefined;
      return { textBytes: Buffer.byteLength(itemText(id, value)), value: () => value };
    }
    if (this.#memtable.record(space) === undefined) return undefined;
    const text = this.#leaves.text(space, id);
    if (text === undefined) return undefined;
    const json = text.toString();
    return { textBytes: text.length, value: () => (JSON.parse(json) as Item).name };
  }

  #findRejection(write: Write, found: FoundItem | undefined): Rejection['reason'] | undefined {
    if (write.kind === 'remove') return this.#findRemovalRejection(write);
    if (write.kind === 'create' && found !== undefined) return 'exists';
    if (write.kind === 'create' || write.kind === 'put') {
      const isMade = write.makeSpace || this.#memtable.record(write.space) !== undefined;
      return isMade ? undefined : 'space_missing';
    }
    if (write.ifValue === null) return found === undefined ? undefined : 'exists';
    if (found === undefined) return 'missing';
    return write.ifValue === undefined || write.ifValue === found.value() ? undefined : 'differs';
  }

  #findRemovalRejection({ space }: SpaceRemovalWrite): Rejection['reason'] | undefined {
    const record = this.#memtable.record(space);
    if (record === undefined) return 'space_missing';
    return record.count > 0 ? 'exists' : undefined;
  }

  #set(write: Write, textBytesBefore: number): void {
    if (write.kind === 'check') return;
    const { space, id } = write;
    if (write.kind === 'remove') {
      this.#memtable.removeSpace(space, this.#memtable.last + 1);
      if (!this.#changed.has(space)) this.#changed.set(space, new Map());
      return;
    }
    const value = write.kind === 'delete' ? undefined : write.value;
    const textBytes = textBytesAfter(write);
    const commit = this.#memtable.last + 1;
    const record = this.#memtable.record(space) ?? newSpace;
    this.#memtable.set(space, id, value, commit);
    this.#memtable.setRecord(space, {
      count: record.count + Math.sign(textBytes) - Math.sign(textBytesBefore),
      textBytes: record.textBytes + textBytes - textBytesBefore,
      generation: commit,
    });
    const changes = this.#changed.get(space);
    if (changes === undefined) this.#changed.set(space, new Map([[id, value ?? null]]));
    else changes.set(id, value ?? null);
  }

  #compactSome(sizeMax: number): void {
    if (this.#isCompactionStopped) return;
    if (!this.#compaction.isUnderWay) {
      const { journalSize, journalChanges } = this.#memtable;
      if (journalSize < journalSizeMax && journalChanges < journalChangesMax) return;
      this.#compaction.begin();
    }
    this.#compactStep(sizeMax);
  }

  #changedSpaces(): readonly SpaceEntry[] {
    return Array.from(this.#changed, ([space, values]): SpaceEntry => {
      const record = this.#memtable.record(space);
      const changes: (string | null)[] = [];
      for (const [id, value] of values) changes.push(id, value);
      if (record === undefined) return [space, 0, 0, changes, true];
      return [space, record.count, record.textBytes, changes];
    });
  }

  /**
   * @param spaces the spaces of the `JournalEntry`, as JSON
   * @param changes how many changes they have
   */
  #append(spaces: string, changes: number): void {
    const commit = this.#memtable.last + 1;
    const size = appendEntry(this.#store, commit, { first: this.#memtable.first, spaces, at: Date.now() });
    this.#memtable.append(commit, size, changes);
  }
}

/** Bytes of the item's text after the write. */
function textBytesAfter(write: Exclude<Write, { kind: 'check' | 'remove' }>): number {
  return write.kind === 'delete' ? 0 : Buffer.byteLength(itemText(write.id, write.value));
}

/** Whether the data is smaller after the commit. A commit that changes nothing needs no space either. */
function freesSpace(writes: readonly Write[], found: readonly (FoundItem | undefined)[]): boolean {
  let growth = 0;
  let isChange = false;
  for (const [index, write] of writes.entries()) {
    if (write.kind === 'check' || write.kind === 'remove') continue;
    isChange = true;
    growth += textBytesAfter(write) - (found[index]?.textBytes ?? 0);
  }
  return growth < 0 || !isChange;
}
