import assert from 'node:assert/strict';
import type { Space } from '../../../src/storage/engine.ts';
import type { Item } from '../../../src/storage/item-text.ts';
import { leafBytesMax } from '../../../src/storage/lmdb/limits.ts';
import type { JournalEntry } from '../../../src/storage/lmdb/log/journal.ts';
import type { SpaceRecord, Store } from '../../../src/storage/lmdb/store.ts';
import { byIdBytes, plainRun, textBytesOf } from './simple-run.ts';

/**
 * Checks every leaf of a store against the format (src/storage/lmdb/store.ts), with LMDB itself but none of the store's
 * code: keys ascend, each leaf holds only items that belong under its key, none is empty or too large, and each is byte
 * for byte the run of its items.
 *
 * @returns the items by space
 */
export function walkLeaves(store: Store): Map<Space, Item[]> {
  const spaces = new Map<Space, Item[]>();
  let keyBefore = '';
  for (const { key, value } of store.leaves.getRange({ start: '\x01' })) {
    assert.ok(key > keyBefore, 'the keys of leaves ascend');
    keyBefore = key;
    const { space, fence } = partsOf(key);
    const run = Buffer.from(value);
    const items = itemsIn(run);
    assert.ok(items.length > 0, 'no leaf is empty');
    assert.ok(
      run.equals(plainRun(items)),
      'a leaf consists of the text of its items, their offsets and their count',
    );
    assert.ok(
      run.length <= leafBytesMax || items.length === 1,
      `${items.length} items in ${run.length} bytes`,
    );
    const held = spaces.get(space) ?? [];
    for (const item of items) {
      const before = held.at(-1);
      assert.ok(before === undefined || byIdBytes(before, item) < 0, 'ids ascend, within leaves and across');
      held.push(item);
    }
    if (fence !== undefined) {
      assert.ok(Buffer.from((items.at(-1) as Item).id).compare(fence) <= 0, 'no id is beyond its leaf’s key');
    }
    spaces.set(space, held);
  }
  return spaces;
}

/** Asserts that nothing is left to compact, and that count and bytes of each space are those of its leaves. */
export function assertCompacted(store: Store): void {
  // Only entries without changes are left, by which a compaction records what it has removed from the journal.
  for (const { value } of store.journal.getRange({ start: 0 })) {
    assert.deepEqual((JSON.parse(value) as JournalEntry).spaces, []);
  }
  const leaves = walkLeaves(store);
  const records = [...store.records.getRange({ start: '\x01' })];
  for (const space of leaves.keys())
    assert.ok(
      records.some(({ key }) => key === space),
      `${space} has no record`,
    );
  for (const { key, value } of records) {
    const { count, textBytes } = JSON.parse(value) as SpaceRecord;
    const items = leaves.get(key as Space) ?? [];
    const bytes = items.reduce((sum, item) => sum + textBytesOf(item), 0);
    assert.deepEqual({ key, count, textBytes }, { key, count: items.length, textBytes: bytes });
  }
}

/** @returns the space of a leaf, and its greatest possible id; undefined for a last leaf */
function partsOf(key: string): { readonly space: Space; readonly fence: Buffer | undefined } {
  // A space's name has no control character.
  const end = [...key].findIndex((character) => character < ' ');
  assert.ok(end > 0, 'a leaf’s key begins with a space’s name');
  const isLast = key[end] === '\x01';
  if (isLast) assert.equal(key.length, end + 1);
  return {
    space: key.slice(0, end) as Space,
    fence: isLast ? undefined : Buffer.from(key.slice(end + 1), 'latin1'),
  };
}

function itemsIn(run: Buffer): Item[] {
  const count = run.readUInt16LE(run.length - 2);
  return JSON.parse(`[${run.toString('utf8', 0, run.length - 2 * (count + 1))}]`) as Item[];
}
