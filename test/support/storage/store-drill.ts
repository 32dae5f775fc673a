import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import type { Chunks, Scan, ScanOptions, Space } from '../../../src/storage/engine.ts';
import { verifyStore } from '../../../src/storage/lmdb/file/verify.ts';
import type { Write } from '../../../src/storage/lmdb/log/committer.ts';
import { between, pick, type Random, shuffled } from '../random.ts';
import { assertCompacted, walkLeaves } from './leaf-walk.ts';
import { RandomWrites } from './random-writes.ts';
import { SpaceModel } from './space-model.ts';
import { StoreOpener } from './store-opener.ts';

interface HeldScan {
  readonly opener: StoreOpener;
  readonly chunks: Iterator<Buffer>;
  readonly expected: Buffer;
  readonly read: Buffer[];
}

class IntendedFailure extends Error {}

/**
 * A sequence of random steps on one store, by up to three openers that take turns as processes would. After each step
 * the store is compared with a model.
 */
export class StoreDrill {
  readonly #file: string;
  readonly #random: Random;
  readonly #model = new SpaceModel();
  readonly #writes: RandomWrites;
  readonly #openers: StoreOpener[];
  readonly #versions = new Map<Space, { readonly version: string | undefined; readonly changes: number }>();
  #held: HeldScan[] = [];
  /** The steps so far, for the message of a failure. */
  readonly steps: string[] = [];

  constructor(file: string, random: Random) {
    this.#file = file;
    this.#random = random;
    this.#writes = new RandomWrites(random, this.#model);
    this.#openers = Array.from({ length: pick(random, [1, 1, 2, 3]) }, () => new StoreOpener(file));
  }

  async run(): Promise<void> {
    const steps: readonly (readonly [weight: number, step: () => unknown])[] = [
      [6, () => this.#commit(this.#writes.few())],
      [4, () => this.#commit(this.#writes.many())],
      [2, () => this.#commit(this.#writes.removal())],
      [5, () => this.#compact(pick(this.#random, [1, 50, 500, 5_000, 50_000]))],
      [1, () => this.#compact(Number.MAX_SAFE_INTEGER)],
      [2, () => this.#fail()],
      [3, () => this.#beginScan()],
      [3, () => this.#endScan()],
      [1, () => this.#reopen()],
      [1, () => this.#walk()],
      [2, () => this.#turn()],
    ];
    const weighted = steps.flatMap(([weight, step]) => Array.from({ length: weight }, () => step));
    for (let left = between(this.#random, 10, 60); left > 0; left--) {
      await pick(this.#random, weighted)();
      this.#read(pick(this.#random, this.#openers));
    }
    await this.#end();
  }

  async close(): Promise<void> {
    for (const { chunks } of this.#held) chunks.return?.();
    for (const opener of this.#openers) await opener.close();
  }

  #commit(batch: readonly (readonly Write[])[]): void {
    if (batch.length === 0) return;
    const opener = this.#opener('commit', batch.length);
    const rejections = opener.transact(() => opener.committer.carryOut(batch));
    assert.deepEqual(
      rejections,
      batch.map((writes) => this.#model.commit(writes)),
    );
  }

  #compact(sizeMax: number): void {
    const opener = this.#opener('compact', sizeMax);
    opener.transact(() => opener.committer.compactIdle(sizeMax));
  }

  /** A transaction that is rolled back after its changes. */
  #fail(): void {
    const opener = this.#opener('fail', 0);
    const isCompaction = this.#random() < 0.5;
    const batch = this.#writes.few();
    assert.throws(
      () =>
        opener.transact(() => {
          if (isCompaction) opener.committer.compactIdle(between(this.#random, 1, 5_000));
          else opener.committer.carryOut(batch);
          throw new IntendedFailure();
        }),
      IntendedFailure,
    );
  }

  #beginScan(): void {
    const opener = this.#opener('begin a scan', this.#held.length);
    const space = pick(this.#random, this.#writes.spaces);
    const options = this.#scanOptions();
    const scan = opener.reader.scan(space, options);
    if (scan === undefined) return;
    const chunks = iteratorOf(scan.chunks);
    const held: HeldScan = { opener, chunks, expected: this.#model.text(space, options), read: [] };
    this.#held.push(held);
    for (let left = between(this.#random, 0, 2); left > 0; left--) readChunk(held);
  }

  /** Reads a scan to its end, or closes it. */
  #endScan(): void {
    const held = this.#held.pop();
    if (held === undefined) return;
    this.steps.push('end a scan');
    if (this.#random() < 0.3) held.chunks.return?.();
    else assertReads(held);
  }

  async #reopen(): Promise<void> {
    const opener = this.#opener('reopen', this.#held.length);
    for (const held of this.#held.filter((each) => each.opener === opener)) assertReads(held);
    this.#held = this.#held.filter((each) => each.opener !== opener);
    this.#openers.splice(this.#openers.indexOf(opener), 1);
    await opener.close();
    this.#openers.push(new StoreOpener(this.#file));
  }

  #walk(): void {
    walkLeaves(this.#opener('walk', 0).store);
  }

  /** Lets the library's timers run, which release snapshots. */
  async #turn(): Promise<void> {
    this.steps.push('turn');
    await turn();
  }

  #read(opener: StoreOpener): void {
    const space = pick(this.#random, this.#writes.spaces);
    const id = pick(this.#random, this.#writes.ids);
    assert.equal(opener.reader.get(space, id), this.#model.get(space, id));
    this.#assertFacts(opener, space);
    const options = this.#random() < 0.5 ? undefined : this.#scanOptions();
    this.#assertScans(opener, space, options);
  }

  #assertFacts({ reader }: StoreOpener, space: Space): void {
    const facts = reader.describe(space);
    assert.equal(facts !== undefined, this.#model.has(space));
    if (facts === undefined) return;
    const { count, textBytes, version } = facts;
    const expected = this.#model.count(space);
    assert.deepEqual({ count, textBytes }, { count: expected, textBytes: this.#model.text(space).length });
    const changes = this.#model.changesOf(space);
    const known = this.#versions.get(space);
    if (known !== undefined)
      assert.equal(
        version === known.version,
        changes === known.changes,
        'the version changes with every change of the space',
      );
    this.#versions.set(space, { version, changes });
  }

  #assertScans(opener: StoreOpener, space: Space, options?: ScanOptions): void {
    const scan = opener.reader.scan(space, options ?? {});
    assert.equal(scan !== undefined, this.#model.has(space));
    if (scan === undefined) return;
    const { chunks, ...facts } = scan as Scan;
    assert.deepEqual(facts, opener.reader.describe(space));
    const expected = this.#model.text(space, options);
    assertReads({ opener, chunks: iteratorOf(chunks), expected, read: [] });
  }

  #scanOptions(): ScanOptions {
    const after = pick(this.#random, [...this.#writes.ids, 'm', '\u{10ffff}\u{10ffff}']);
    const limit = between(this.#random, 1, this.#writes.ids.length);
    const prefix = this.#prefix();
    const options = [{}, { after }, { limit }, { after, limit }, { prefix }, { prefix, after, limit }];
    return pick<ScanOptions>(this.#random, options);
  }

  /** Some whole characters of an id, or the whole id. */
  #prefix(): string {
    const characters = [...pick(this.#random, this.#writes.ids)];
    return characters.slice(0, between(this.#random, 1, characters.length)).join('');
  }

  /** Reads everything by all openers, before and after the last compaction, and by a new opener. */
  async #end(): Promise<void> {
    while (this.#held.length > 0) this.#endScan();
    this.#openers.push(new StoreOpener(this.#file));
    this.#readAll();
    assert.deepEqual((await verifyStore(this.#file)).problems, []);
    const opener = this.#opener('compact all', 0);
    opener.compactAll();
    assertCompacted(opener.store);
    const leaves = walkLeaves(opener.store);
    for (const space of this.#writes.spaces)
      assert.deepEqual(leaves.get(space) ?? [], this.#model.items(space));
    this.#readAll();
    await this.#reopen();
    this.#readAll();
  }

  #readAll(): void {
    for (const opener of this.#openers) {
      for (const space of this.#writes.spaces) {
        this.#assertFacts(opener, space);
        this.#assertScans(opener, space);
        for (const id of shuffled(this.#random, this.#writes.ids).slice(0, 20)) {
          assert.equal(opener.reader.get(space, id), this.#model.get(space, id));
        }
      }
    }
  }

  #opener(step: string, extent: number): StoreOpener {
    const index = between(this.#random, 0, this.#openers.length - 1);
    this.steps.push(`${step} ${extent} by ${index}`);
    return this.#openers[index] as StoreOpener;
  }
}

const closingBrace = '}'.charCodeAt(0);

/** The iterator of chunks, which may be an array. */
function iteratorOf(chunks: Chunks): Iterator<Buffer> {
  return (chunks as Iterable<Buffer>)[Symbol.iterator]();
}

function readChunk({ chunks, read }: HeldScan): boolean {
  const { done, value } = chunks.next();
  if (done) return false;
  assert.ok(value.length > 0, 'no chunk is empty');
  assert.equal(value.at(-1), closingBrace, 'a chunk ends with an item');
  // A chunk is valid until the next one is requested.
  read.push(Buffer.from(value));
  return true;
}

function assertReads(held: HeldScan): void {
  while (readChunk(held));
  const text = Buffer.concat(held.read);
  // Not assert.equal, which would take minutes to show the difference of two texts of a megabyte.
  assert.ok(
    text.equals(held.expected),
    `the ${text.length} bytes read differ from the ${held.expected.length} expected`,
  );
}
