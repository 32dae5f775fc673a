import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Row, Rows } from '../../src/cli/tables/item-file.ts';
import { sortedRows } from '../../src/cli/tables/sorted-rows.ts';
import type { RowBatch } from '../../src/cli/tables/write-all.ts';
import { BatchQueue } from '../../src/cli/tables/write-all.ts';
import { between, pick, randomFrom, seedOf } from '../support/random.ts';
import { nastyStrings } from '../support/tables/nasty-strings.ts';

/** More than an import sorts in the memory. */
const manyBytes = 80_000_000;

async function* inGroups(rows: readonly Row[], size: number, failure?: Error): Rows {
  for (let index = 0; index < rows.length; index += size) yield rows.slice(index, index + size);
  if (failure !== undefined) throw failure;
}

async function all(rows: Rows, into: Row[] = []): Promise<readonly Row[]> {
  for await (const group of rows) into.push(...group);
  return into;
}

function bySorting(rows: readonly Row[]): readonly Row[] {
  return rows.toSorted((one, other) => {
    if (one.item.id === other.item.id) return one.line - other.line;
    return one.item.id < other.item.id ? -1 : 1;
  });
}

test('an import sorts rows that are more than it keeps in the memory, and changes none', async (t) => {
  const random = randomFrom(seedOf(t));
  // The first row comes first; nothing before it is in order.
  const rows: Row[] = [{ line: 1, item: { id: '\uffff\uffff', name: '' } }];
  for (let bytes = 0; bytes < manyBytes; ) {
    const id = `${pick(random, nastyStrings)}${between(random, 0, 300)}`;
    const name = `${pick(random, nastyStrings)}${'x"\n'.repeat(between(random, 0, 30_000))}`;
    rows.push({ line: rows.length + 1, item: { id, name } });
    bytes += name.length;
  }
  const found = await all(sortedRows(inGroups(rows, 100), () => undefined));
  const lines = (some: readonly Row[]) => some.map(({ line }) => line);
  assert.deepEqual(lines(found), [1, ...lines(bySorting(rows.slice(1)))]);
  for (const { line, item } of found) {
    const { id, name } = rows[line - 1]?.item ?? assert.fail();
    // A difference of names would be too long to print.
    assert.ok(item.id === id && item.name === name, `line ${line}`);
  }
});

test('an import passes rows in order on at once, and sorts those behind the first one that is not', async () => {
  const row = (line: number, id: string): Row => ({ line, item: { id, name: '' } });
  const rows = [row(1, 'a'), row(2, 'c'), row(3, 'c'), row(4, 'b'), row(5, 'z'), row(6, 'd')];
  const lines = async (rows: Rows) => (await all(rows)).map(({ line }) => line);
  assert.deepEqual(await lines(sortedRows(inGroups(rows, 2), () => undefined)), [1, 2, 3, 4, 6, 5]);
  const failure = new Error('a rejected line');
  const before: Row[] = [];
  await assert.rejects(
    all(
      sortedRows(inGroups(rows, 4, failure), () => undefined),
      before,
    ),
    failure,
  );
  assert.equal(before.length, rows.length);
});

test('an import writes two batches with the same id one after the other, and others at once', async () => {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const batch = (...ids: string[]): RowBatch => ({ rows: [], ids: new Set(ids), bytes: 1 });
  const queue = new BatchQueue(8, async ({ ids }) => {
    const name = [...ids].join('');
    begun.push(name);
    await new Promise<void>((resolve) => {
      ends.set(name, resolve);
    });
  });
  await queue.add(batch('a', 'b'));
  await queue.add(batch('c'));
  const waiting = queue.add(batch('b', 'd'));
  ends.get('c')?.();
  await new Promise(setImmediate);
  assert.deepEqual(begun, ['ab', 'c']);
  ends.get('ab')?.();
  await waiting;
  assert.deepEqual(begun, ['ab', 'c', 'bd']);
  ends.get('bd')?.();
  await queue.end();
});
