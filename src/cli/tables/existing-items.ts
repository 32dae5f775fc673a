import type { TableAccess } from './table-access.ts';

/** More pages would cost more than to look up each item of a batch. */
const pagesMax = 3;

/**
 * The names of those items that a table has, by id: in a page or two if the table has little else between them. A store with an
 * order of its own, such as DynamoDB's, may look sorted by chance; then some that the table has are left out.
 */
export async function existingItems(
  tables: Pick<TableAccess, 'pages' | 'find'>,
  table: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const sorted = ids.toSorted(compareIds);
  const [first = '', last = ''] = [sorted[0], sorted.at(-1)];
  const found = new Map<string, string>();
  let [before, pages] = [first, 0];
  for await (const page of tables.pages(table, first)) {
    for (const { id, name } of page) {
      if (compareIds(before, id) >= 0) return eachOf(tables, table, ids);
      found.set(id, name);
      before = id;
    }
    if (compareIds(before, last) >= 0) break;
    if (++pages === pagesMax) return eachOf(tables, table, ids);
  }
  const item = await tables.find(table, first);
  if (item !== undefined) found.set(first, item.name);
  return found;
}

/** The same by a look-up of each item, whatever order the table has. */
export async function eachOf(
  tables: Pick<TableAccess, 'find'>,
  table: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const id of ids) {
    const item = await tables.find(table, id);
    if (item !== undefined) found.set(id, item.name);
  }
  return found;
}

/** As a table sorts them. */
function compareIds(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
