import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import type { Item } from '../../src/storage/item-text.ts';
import { itemIdBytesMax } from '../../src/storage/limits.ts';
import {
  emptySortedRun,
  findText,
  idAtIndex,
  itemCount,
  itemEnd,
  itemStart,
  itemTextAt,
  runText,
  type SortedRun,
  search,
  textBytes,
} from '../../src/storage/lmdb/file/sorted-run.ts';
import { leafBytesMax } from '../../src/storage/lmdb/limits.ts';
import type { ItemChange } from '../../src/storage/lmdb/log/memtable.ts';
import { joined, type RunSize, textBetween, withChanges } from '../../src/storage/lmdb/log/merge.ts';
import { itemBytesMax } from '../../src/tables/table-item.ts';
import { count } from '../support/extent.ts';
import { seedOf } from '../support/random.ts';
import { hardCharacters } from '../support/storage/hard-ids.ts';
import { byIdBytes, plainRun, textBytesOf } from '../support/storage/simple-run.ts';

const hardId = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.string({ unit: fc.constantFrom(...hardCharacters), minLength: 1, maxLength: 4 }),
  },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 3 }) },
  {
    weight: 2,
    // A long prefix that many ids share, up to the maximum length of an id.
    arbitrary: fc
      .tuple(fc.constantFrom('x', '"', '\\', 'é', '\u{10000}'), fc.constantFrom(...hardCharacters))
      .map(([prefix, last]) => {
        const bytesLeft = itemIdBytesMax - Buffer.byteLength(last);
        return prefix.repeat(Math.floor(bytesLeft / Buffer.byteLength(prefix))) + last;
      }),
  },
);
const value = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: fc.constantFrom(...hardCharacters), maxLength: 12 }) },
  { weight: 2, arbitrary: fc.nat(3_000).map((length) => 'v'.repeat(length)) },
  { weight: 1, arbitrary: fc.integer({ min: 7_800, max: 9_000 }).map((length) => 'w'.repeat(length)) },
);
const items = (ofValue: fc.Arbitrary<string> = value) =>
  fc
    .uniqueArray(fc.record({ id: hardId, name: ofValue }, { noNullPrototype: true }), {
      selector: ({ id }) => id,
      maxLength: 60,
    })
    .map((made) => made.sort(byIdBytes));
/** One run of at most 64 KiB. */
const itemsOfOneRun = items(fc.string({ unit: fc.constantFrom(...hardCharacters), maxLength: 12 })).filter(
  (made) => made.reduce((bytes, item) => bytes + textBytesOf(item) + 3, 2) < 0xffff,
);
const size = fc.record<RunSize>({
  bytesMax: fc.oneof(fc.constant(leafBytesMax), fc.integer({ min: 64, max: 0xffff })),
  filled: fc.boolean(),
});

/** The maximum size of a run, so that all items are in one run. */
const oneRun: RunSize = { bytesMax: 0xffff, filled: true };

function check<Values extends [unknown, ...unknown[]]>(
  t: TestContext,
  ...property: [...{ [Index in keyof Values]: fc.Arbitrary<Values[Index]> }, (...values: Values) => void]
): void {
  // biome-ignore lint/suspicious/noExplicitAny: fc.property's own types want the arbitraries spelt out
  const asserted = (fc.property as any)(...property);
  fc.assert(asserted, { seed: seedOf(t) | 0, numRuns: count({ short: 300, long: 20_000 }) });
}

function asChanges(
  changed: readonly { readonly id: string; readonly name?: string | undefined }[],
): ItemChange[] {
  return [...changed].sort(byIdBytes).map(({ id, name }) => ({
    id,
    idBytes: Buffer.from(id).toString('latin1'),
    value: name,
    commit: 1,
  }));
}

function runOf(made: readonly Item[]): SortedRun {
  return withChanges(emptySortedRun, asChanges(made), oneRun)[0] ?? emptySortedRun;
}

function itemsIn(runs: readonly SortedRun[]): Item[] {
  return runs.flatMap((run) => JSON.parse(`[${runText(run).toString()}]`) as Item[]);
}

test('a run consists of the JSON of its items, joined by commas, and the offset of each item', (t) => {
  check<[Item[]]>(t, itemsOfOneRun, (made) => {
    const run = runOf(made);
    assert.deepEqual(run, plainRun(made));
    assert.equal(itemCount(run), made.length);
    assert.equal(runText(run).toString(), made.map((item) => JSON.stringify(item)).join(','));
    assert.equal(textBytes(run), runText(run).length);
    for (const [index, item] of made.entries()) {
      assert.equal(itemTextAt(run, index).toString(), JSON.stringify(item));
      assert.equal(itemEnd(run, index) - itemStart(run, index), textBytesOf(item));
      assert.equal(idAtIndex(run, index), item.id);
    }
  });
});

test('a run finds each of its ids, and the position of any other id', (t) => {
  check<[Item[], string[], number]>(
    t,
    itemsOfOneRun,
    fc.array(hardId, { maxLength: 20 }),
    fc.nat(60),
    (made, others, from) => {
      const run = runOf(made);
      const near = made.flatMap(({ id }) => [id, `${id}\u0000`, `${id}"`, [...id].slice(0, -1).join('')]);
      for (const id of [...near, ...others]) {
        const before = made.filter((item) => byIdBytes(item, { id }) < 0).length;
        const held = made.find((item) => item.id === id);
        const start = Math.min(from, before);
        assert.deepEqual(search(run, Buffer.from(id), start), { index: before, found: held !== undefined });
        const text = findText(run, Buffer.from(id))?.toString();
        assert.equal(text, held === undefined ? undefined : JSON.stringify(held));
      }
    },
  );
});

test('orders ids by their UTF-8 bytes, neither by UTF-16 units nor by their escaped form', () => {
  const inOrder = ['\u0000', '\u0001', '\n', '!', '"', '"a', '#', '[', '\\', '\\\\', ']', 'z', '\u007f'];
  inOrder.push('\u0080', 'é', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}');
  assert.notDeepEqual([...inOrder].sort(), inOrder);
  for (const first of inOrder) {
    const run = runOf([{ id: first, name: '' }]);
    for (const id of inOrder) {
      const index = inOrder.indexOf(id) <= inOrder.indexOf(first) ? 0 : 1;
      assert.deepEqual(search(run, Buffer.from(id), 0), { index, found: id === first });
    }
  }
});

test('returns the text of any range of items, joined by commas', (t) => {
  check<[Item[]]>(t, itemsOfOneRun, (made) => {
    const run = runOf(made.slice(0, 12));
    for (let first = 0; first <= itemCount(run); first++) {
      for (let end = first; end <= itemCount(run); end++) {
        const texts = made.slice(first, end).map((item) => JSON.stringify(item));
        assert.equal(textBetween(run, first, end).toString(), texts.join(','));
      }
    }
  });
});

test('applies changes as a map does, and returns well-formed runs', (t) => {
  const change = fc.record({ id: hardId, name: fc.option(value, { nil: undefined }) });
  const changes = fc.uniqueArray(change, { selector: ({ id }) => id, maxLength: 40 });
  check<[Item[], { id: string; name: string | undefined }[], number[], RunSize]>(
    t,
    itemsOfOneRun,
    changes,
    fc.array(fc.nat(59), { maxLength: 10 }),
    size,
    (before, changed, alsoChanged, wanted) => {
      const model = new Map(before.map(({ id, name }) => [id, name]));
      const all = new Map(changed.map(({ id, name }) => [id, name]));
      // Most random ids are not in the run, so some items of the run are deleted or replaced as well.
      for (const [n, index] of alsoChanged.entries()) {
        const item = before[index];
        if (item !== undefined) all.set(item.id, n % 2 === 0 ? undefined : 'replaced');
      }
      for (const [id, name] of all) {
        if (name === undefined) model.delete(id);
        else model.set(id, name);
      }
      const runs = withChanges(
        runOf(before),
        asChanges(Array.from(all, ([id, name]) => ({ id, name }))),
        wanted,
      );
      assertRuns(runs, Array.from(model, ([id, name]) => ({ id, name })).sort(byIdBytes), wanted);
    },
  );
});

test('joins two runs in their order', (t) => {
  check<[Item[], number, RunSize]>(t, itemsOfOneRun, fc.nat(60), size, (made, at, wanted) => {
    const runs = joined(runOf(made.slice(0, at)), runOf(made.slice(at)), wanted);
    assertRuns(runs, made, wanted);
  });
});

test('splits a full run into two that have room to grow', (t) => {
  const full = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 500, maxLength: 500 });
  check<[number[]]>(t, full, (lengths) => {
    const made: Item[] = [];
    let bytes = 2;
    for (const [index, length] of lengths.entries()) {
      const item = { id: String(index).padStart(3, '0'), name: 'n'.repeat(length) };
      if (bytes > leafBytesMax) break;
      bytes += textBytesOf(item) + 3;
      made.push(item);
    }
    const runs = withChanges(emptySortedRun, asChanges(made), { bytesMax: leafBytesMax, filled: false });
    assert.equal(runs.length, 2);
    for (const run of runs) assert.ok(run.length > leafBytesMax / 3 && run.length < (leafBytesMax * 2) / 3);
  });
});

for (const [title, character] of [
  ['plain', 'x'],
  ['with every character escaped', '\u0001'],
] as const) {
  test(`puts the largest item, ${title}, into a run of its own`, () => {
    const large = { id: 'm', name: character.repeat(itemBytesMax) };
    const small = ['a', 'b', 'y', 'z'].map((id) => ({ id, name: '' }));
    for (const filled of [true, false]) {
      const wanted = { bytesMax: leafBytesMax, filled };
      const runs = withChanges(runOf(small), asChanges([large]), wanted);
      assertRuns(runs, [...small, large].sort(byIdBytes), wanted);
      const alone = runs.find((run) => run.length > leafBytesMax) as SortedRun;
      assert.equal(itemCount(alone), 1);
      assert.equal(findText(alone, Buffer.from('m'))?.length, textBytesOf(large));
      assert.deepEqual(search(alone, Buffer.from('n'), 0), { index: 1, found: false });
      const without = withChanges(alone, asChanges([{ id: 'm' }]), wanted);
      assert.deepEqual(without, []);
    }
  });
}

/** Asserts that the runs contain exactly these items, in the right format and size. */
function assertRuns(
  runs: readonly SortedRun[],
  expected: readonly Item[],
  { bytesMax, filled }: RunSize,
): void {
  assert.deepEqual(itemsIn(runs), expected);
  let first = 0;
  for (const run of runs) {
    const held = expected.slice(first, first + itemCount(run));
    first += held.length;
    assert.ok(held.length > 0, 'a run without an item');
    assert.deepEqual(run, plainRun(held));
    assert.ok(run.length <= bytesMax || held.length === 1, `${held.length} items in ${run.length} bytes`);
    const next = expected[first];
    // An item takes two more bytes for its offset and one for its comma.
    const room = bytesMax - run.length;
    if (filled && next !== undefined) assert.ok(textBytesOf(next) + 3 >= room, `${room} bytes were left`);
  }
}
