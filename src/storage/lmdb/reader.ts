import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../errors.ts';
import type { Scan, ScanOptions, Space, SpaceFacts } from '../engine.ts';
import type { Item } from '../item-text.ts';
import { itemsCachedMax, itemsCachedSizeMax, smallSpaceBytesMax, smallSpacesCachedMax } from './limits.ts';
import { readChunks, readRuns, type Transaction, textInLeaves } from './log/leaves.ts';
import { type ItemChange, Memtable } from './log/memtable.ts';
import type { HeldSnapshots, LastCommit } from './log/snapshots.ts';
import type { SpaceRecord, Store } from './store.ts';

/**
 * The library reads in one snapshot at a time, and releases it in a later turn of the event loop. When it begins another one, it emits an
 * event that its types lack. The journal must then be read in that snapshot too.
 */
interface Snapshots {
  ensureReadTxn(): void;
  resetReadTxn(): void;
  addListener(event: 'begin-transaction', listener: () => void): void;
}

/** A cached space, valid while its record is this one. */
interface SmallSpace {
  readonly record: SpaceRecord;
  readonly scan: Scan;
}

/** A cached item of the leaves, valid while the record of its space is this one. */
interface CachedItem {
  readonly record: SpaceRecord;
  readonly value: string;
}

/**
 * Reads on the main thread. A read sees every commit of any process that was durable at the last `refresh`. It must follow the refresh in
 * the same turn of the event loop, because the library releases its snapshot in a later one.
 */
export class Reader {
  readonly #store: Store;
  readonly #lastCommit: LastCommit;
  readonly #memtable: Memtable;
  readonly #snapshots: Snapshots;
  readonly #held: HeldSnapshots;
  readonly #smallSpaces = new LRUCache<Space, SmallSpace>({ max: smallSpacesCachedMax });
  readonly #items = new LRUCache<string, CachedItem>({
    max: itemsCachedMax,
    maxSize: itemsCachedSizeMax,
    sizeCalculation: ({ value }) => value.length + 1,
  });
  #commitSeen = -1;
  #isCaughtUp = false;

  constructor(store: Store, lastCommit: LastCommit, held: HeldSnapshots) {
    this.#store = store;
    this.#held = held;
    this.#lastCommit = lastCommit;
    this.#memtable = new Memtable(store);
    this.#snapshots = store.root as unknown as Snapshots;
    this.#snapshots.addListener('begin-transaction', () => {
      this.#isCaughtUp = false;
    });
  }

  /**
   * Costs a system call: see `SnapshotRefresh`.
   *
   * @returns false if a writer died in its transaction, or the snapshot is older than what this thread has read. Then read nothing:
   * wait for a write transaction, even one that changes nothing, and call `refreshAfterRepair`.
   */
  refresh(): boolean {
    const commit = this.#lastCommit.read();
    if (commit !== this.#commitSeen) this.#snapshots.resetReadTxn();
    this.#commitSeen = commit;
    this.#snapshots.ensureReadTxn();
    if (!this.#isCaughtUp) this.#isCaughtUp = this.#memtable.catchUp();
    return this.#isCaughtUp && !this.#lastCommit.isInDoubt;
  }

  /** As `refresh`, but accepts the state that the snapshot shows. */
  refreshAfterRepair(): void {
    this.refresh();
    if (this.#isCaughtUp) return;
    this.#memtable.forget();
    this.#isCaughtUp = this.#memtable.catchUp();
  }

  get(space: Space, id: string): string | undefined {
    const change = this.#memtable.change(space, id);
    if (change !== undefined) return change.value;
    const record = this.#memtable.record(space);
    const key = `${space} ${id}`;
    const cached = this.#items.get(key);
    if (cached !== undefined && cached.record === record) return cached.value;
    const text = textInLeaves(this.#store, space, id);
    if (record === undefined || text === undefined) return undefined;
    const value = (JSON.parse(text.toString()) as Item).name;
    this.#items.set(key, { record, value });
    return value;
  }

  spaces(): readonly Space[] {
    return this.#memtable.spaces();
  }

  describe(space: Space): SpaceFacts | undefined {
    const record = this.#memtable.record(space);
    return record === undefined ? undefined : this.#describeRecord(record);
  }

  scan(space: Space, options: ScanOptions): Scan | undefined {
    const record = this.#memtable.record(space);
    if (record === undefined) return undefined;
    const isWhole = Object.values(options).every((option) => option === undefined);
    if (isWhole && record.textBytes <= smallSpaceBytesMax) return this.#smallSpace(space, record);
    const changes = this.#memtable.changesOf(space);
    const chunks = new SnapshotChunks(this.#store, this.#held, space, changes, options);
    return { ...this.#describeRecord(record), chunks };
  }

  #smallSpace(space: Space, record: SpaceRecord): Scan {
    const cached = this.#smallSpaces.get(space);
    if (cached?.record === record) return cached.scan;
    const runs = readRuns(this.#store, space, this.#memtable.changesOf(space), {});
    const chunks = Array.from(readChunks(runs, {}, smallSpaceBytesMax), (chunk) => Buffer.from(chunk));
    const scan = { ...this.#describeRecord(record), chunks };
    this.#smallSpaces.set(space, { record, scan });
    return scan;
  }

  #describeRecord({ count, textBytes, generation }: SpaceRecord): SpaceFacts {
    const commas = Math.max(0, count - 1);
    return { count, textBytes: textBytes + commas, version: `${this.#store.format.id}-${generation}` };
  }
}

const cutOff = 'the read was slow, and the file of the store grew too much meanwhile';

/**
 * The chunks of a large space. Holds the snapshot until the last chunk is read or `return` is called. If the snapshot ends earlier (see
 * `HeldSnapshots`), `next` throws `unavailable`. The chunk that was read last stays valid.
 */
class SnapshotChunks implements IterableIterator<Buffer> {
  readonly #transaction: Transaction;
  readonly #chunks: Iterator<Buffer>;
  readonly #released: () => void;
  #isDone = false;
  #isCutOff = false;

  constructor(
    store: Store,
    held: HeldSnapshots,
    space: Space,
    changes: readonly ItemChange[],
    options: ScanOptions,
  ) {
    this.#transaction = store.root.useReadTransaction();
    const transaction = this.#transaction;
    const { after, prefix } = options;
    this.#chunks = readChunks(readRuns(store, space, changes, { after, prefix, transaction }), options);
    this.#released = held.hold(() => {
      this.#isCutOff = true;
      this.return();
    });
  }

  [Symbol.iterator](): this {
    return this;
  }

  next(): IteratorResult<Buffer> {
    if (this.#isCutOff) throw new ServiceError('unavailable', { detail: cutOff });
    const result = this.#chunks.next();
    if (result.done) this.return();
    return result;
  }

  /** Also works before the first `next`, when a generator would skip its cleanup. */
  return(): IteratorResult<Buffer> {
    if (!this.#isDone) {
      this.#isDone = true;
      this.#chunks.return?.();
      this.#transaction.done();
      this.#released();
    }
    return { done: true, value: undefined };
  }
}
