import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TableAccess } from '../../src/cli/tables/table-access.ts';
import { writeRows } from '../../src/cli/tables/write-rows.ts';
import { ServiceError } from '../../src/errors.ts';

/** A table with an order of its own, as DynamoDB has one: an id is found after those with a smaller place. */
function tableInOrderOf(places: readonly string[], stored: readonly string[]) {
  const items = new Set(stored);
  let batches = 0;
  const tables: Pick<TableAccess, 'batch' | 'pages' | 'find'> = {
    batch: async (_table, writes) => {
      assert.ok(++batches < 10, 'the batch is sent again and again');
      const ids = writes.map((write) => (Object.values(write)[0] as { id: string }).id);
      const index = ids.findIndex((id) => items.has(id));
      if (index >= 0) throw new ServiceError('item_exists', { message: `Write ${index}: there is one` });
      for (const id of ids) items.add(id);
    },
    async *pages(_table, after) {
      yield places
        .slice(places.indexOf(after) + 1)
        .filter((id) => items.has(id))
        .map((id) => ({ id, name: '' }));
    },
    find: async (_table, id) => (items.has(id) ? { id, name: '' } : undefined),
  };
  return { items, tables: tables as TableAccess };
}

for (const order of ['jhn', 'hjn', 'nhj', 'njh', 'jnh', 'hnj']) {
  test(`an import that skips existing items ends, whatever order the table has: ${order}`, async () => {
    for (const stored of ['', 'j', 'n', 'jn', 'h', 'hj', 'hjn']) {
      const { items, tables } = tableInOrderOf([...order], [...stored]);
      const rows = ['h', 'j', 'n'].map((id, line) => ({ line, item: { id, name: '' } }));
      const target = { tables, table: 'books', onConflict: 'skip' as const, describeRow: () => 'a line' };
      const skipped = await writeRows(target, rows);
      assert.deepEqual(
        skipped.map(({ item }) => item.id).sort(),
        [...stored].sort(),
        `with ${stored} in the table`,
      );
      assert.deepEqual([...items].sort(), ['h', 'j', 'n']);
    }
  });
}
