import { defined } from '../../../defined.ts';
import type { ScanOptions, Space } from '../../engine.ts';
import { scanChunkBytes } from '../../limits.ts';
import type { Reading } from '../file/checked-database.ts';
import { encodeId, endKey, lastLeafKey, leafKey } from '../file/databases.ts';
import { emptySortedRun, findText, itemCount, type SortedRun, search } from '../file/sorted-run.ts';
import type { Store } from '../store.ts';
import type { ItemChange } from './memtable.ts';
import { comma, passingRun, textBetween, withChanges } from './merge.ts';

export type Transaction = ReturnType<Store['root']['useReadTransaction']>;

interface Leaf {
  readonly key: string;
  readonly run: SortedRun;
}

/** The leaf where an id belongs; an empty last leaf if no leaf reaches that far. Throws DamagedValueError. */
export function findLeaf(store: Store, space: Space, idBytes: string, reading?: Reading): Leaf {
  const range = { start: leafKey(space, idBytes), end: endKey(space), limit: 1 };
  for (const { key, value: run } of store.leaves.getRange(range, reading)) return { key, run };
  return { key: lastLeafKey(space), run: emptySortedRun };
}

/** The leaf after a key; undefined after the last leaf. Throws DamagedValueError. */
export function leafAfter(store: Store, space: Space, key: string, reading?: Reading): Leaf | undefined {
  const range = { start: key, exclusiveStart: true, end: endKey(space), limit: 1 };
  for (const { key, value: run } of store.leaves.getRange(range, reading)) return { key, run };
  return undefined;
}

/** The text of an item in the leaves, valid until the next read. Throws DamagedValueError. */
export function textInLeaves(store: Store, space: Space, id: string): Buffer | undefined {
  const { run } = findLeaf(store, space, encodeId(id));
  return textInRun(store, space, id, run);
}

/** @param run the leaf where the id belongs */
function textInRun(store: Store, space: Space, id: string, run: SortedRun): Buffer | undefined {
  const idInBytes = Buffer.from(id);
  const text = findText(run, idInBytes);
  if (text === undefined && search(run, idInBytes, 0).index === 0)
    checkLeafBefore(store, space, leafKey(space, encodeId(id)));
  return text;
}

/**
 * Throws DamagedValueError if the leaf before a key was written under another key. The items between the two keys are then in that leaf,
 * and would seem to be missing.
 */
function checkLeafBefore(store: Store, space: Space, key: string, transaction?: Transaction): void {
  const range = {
    start: key,
    exclusiveStart: true,
    end: space,
    reverse: true,
    limit: 1,
    ...defined({ transaction }),
  };
  // Reading a value checks it.
  for (const _ of store.leaves.getRange(range)) return;
}

/** The length of most leaves. A longer leaf has a single large item, and is read each time. */
const keptBytes = 16 * 1024;

/**
 * Looks up items in the leaves, and keeps the last leaf, because commits often write neighbouring ids. Call `forget` when leaves may
 * have changed.
 */
export class LeafLookup {
  readonly #store: Store;
  readonly #kept = Buffer.alloc(keptBytes);
  #space: Space | undefined;
  /** The ids from this one up to the leaf's key belong in the leaf. */
  #from = '';
  #leaf: Leaf = { key: '', run: emptySortedRun };

  constructor(store: Store) {
    this.#store = store;
  }

  /** The text of an item, valid until the next call. */
  text(space: Space, id: string): Buffer | undefined {
    const idBytes = encodeId(id);
    const isKept =
      this.#space === space && idBytes >= this.#from && leafKey(space, idBytes) <= this.#leaf.key;
    if (!isKept) this.#read(space, idBytes);
    return textInRun(this.#store, space, id, this.#leaf.run);
  }

  forget(): void {
    this.#space = undefined;
  }

  #read(space: Space, idBytes: string): void {
    const { key, run } = findLeaf(this.#store, space, idBytes);
    this.#leaf = { key, run };
    this.#space = undefined;
    if (run.length > keptBytes) return;
    // The library reuses the bytes of a leaf for its next read.
    run.copy(this.#kept);
    this.#leaf = { key, run: this.#kept.subarray(0, run.length) };
    this.#from = idBytes;
    this.#space = space;
  }
}

/** The changes from an index on that belong in the leaf of a key. */
export function changesIn(
  key: string,
  space: Space,
  changes: readonly ItemChange[],
  from: number,
): readonly ItemChange[] {
  let end = from;
  while (end < changes.length && leafKey(space, (changes[end] as ItemChange).idBytes) <= key) end++;
  return changes.slice(from, end);
}

interface RunsOptions {
  readonly after?: string | undefined;
  readonly prefix?: string | undefined;
  readonly transaction?: Transaction;
}

/**
 * The items of a space from the first one that may be in the range, leaf by leaf and with the changes applied. The leaves are those of one
 * transaction.
 */
export function* readRuns(
  store: Store,
  space: Space,
  changes: readonly ItemChange[],
  { after = '', prefix = '', transaction }: RunsOptions,
): Generator<SortedRun> {
  const [afterBytes, prefixBytes] = [encodeId(after), encodeId(prefix)];
  const start = leafKey(space, afterBytes > prefixBytes ? afterBytes : prefixBytes);
  let next = changes.findIndex(({ idBytes }) => leafKey(space, idBytes) >= start);
  if (next < 0) next = changes.length;
  const range = { start, end: endKey(space), ...defined({ transaction }) };
  const isTrusted = store.recentlyRead.has(space);
  if (!isTrusted && start > leafKey(space, '')) checkLeafBefore(store, space, start, transaction);
  for (const { key, value: run } of store.leaves.getRange(range, isTrusted ? trusting : checkingAll)) {
    const changed = next < changes.length ? changesIn(key, space, changes, next) : noChanges;
    next += changed.length;
    if (changed.length === 0) yield run;
    else yield* withChanges(run, changed, passingRun);
  }
  if (after === '' && prefix === '' && !isTrusted) store.recentlyRead.add(space);
  if (next < changes.length) yield* withChanges(emptySortedRun, changes.slice(next), passingRun);
}

const noChanges: readonly ItemChange[] = [];
const checkingAll: Reading = { isAfresh: true };
const trusting: Reading = { isTrusted: true };

/** The text of runs in chunks of a fixed size, which share one buffer. No chunk is empty. */
export function* readChunks(
  runs: Iterable<SortedRun>,
  { after, prefix, limit = Number.POSITIVE_INFINITY }: ScanOptions,
  chunkBytes = scanChunkBytes,
): Generator<Buffer> {
  const chunk = new Chunk(chunkBytes);
  const range = { after: after === undefined ? undefined : Buffer.from(after), ...prefixRange(prefix) };
  let left = limit;
  for (const run of runs) {
    const { first, last } = withinRun(run, range);
    const end = Math.min(last, first + left);
    left -= end - first;
    // Computed before `yield`: afterwards the run is no longer valid.
    const isLast = last < itemCount(run);
    let text = textBetween(run, first, end);
    if (!chunk.hasRoomFor(text)) {
      // Copied, because another reader may reuse the library's buffer before the next chunk is requested.
      text = Buffer.from(text);
      yield chunk.take();
    }
    chunk.add(text);
    if (left === 0 || isLast) break;
  }
  if (!chunk.isEmpty) yield chunk.take();
}

/** A range of ids: greater than `after`, at least `from`, and less than `before`. */
interface IdRange {
  readonly after?: Buffer | undefined;
  readonly from?: Buffer;
  readonly before?: Buffer;
}

/** Every id with the prefix is less than the prefix with its last byte increased by one: UTF-8 has no byte 0xff. */
function prefixRange(prefix = ''): IdRange {
  if (prefix === '') return {};
  const from = Buffer.from(prefix);
  const before = Buffer.from(from);
  before[before.length - 1] = (before.at(-1) as number) + 1;
  return { from, before };
}

/** The index of the first item of the run in the range, and the index after its last one. */
function withinRun(run: SortedRun, { after, from, before }: IdRange): { first: number; last: number } {
  const last = before === undefined ? itemCount(run) : search(run, before, 0).index;
  const afterFirst = after === undefined ? 0 : firstAfter(run, after);
  const fromFirst = from === undefined ? 0 : search(run, from, 0).index;
  return { first: Math.min(Math.max(afterFirst, fromFirst), last), last };
}

function firstAfter(run: SortedRun, id: Buffer): number {
  const { index, found } = search(run, id, 0);
  return found ? index + 1 : index;
}

class Chunk {
  #bytes: Buffer;
  #length = 0;
  #isFirst = true;

  constructor(bytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(bytes);
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  hasRoomFor(text: Buffer): boolean {
    return this.isEmpty || this.#length + 1 + text.length <= this.#bytes.length;
  }

  add(text: Buffer): void {
    if (text.length === 0) return;
    if (1 + text.length > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(1 + text.length);
    if (!this.#isFirst) this.#bytes[this.#length++] = comma;
    this.#isFirst = false;
    this.#length += text.copy(this.#bytes, this.#length);
  }

  /** The result is valid until more is added. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    return taken;
  }
}
