import type { TableFacts, TableItem, TableWrite } from '../../tables/tables.ts';

/** Items of a page in which an import looks for the items of a batch: twice as many, for those in between. */
export const pageItems = 200;

/**
 * The tables that a command works on: those of the settings' store, or with `--url` those of a running service. Methods throw
 * the ServiceErrors of the domain, and WorkFailed when a service cannot be reached.
 */
export interface TableAccess {
  /** Batches that are worth writing at once. */
  readonly batchesAtOnce: number;

  /** All tables by name. */
  list(): AsyncIterable<TableFacts>;

  /** Every item, as `read` of the interface returns them. Throws `table_not_found` at the latest when they are read. */
  read(table: string): Promise<ItemRead>;

  /** Makes all of the writes (1–`commitWritesMax`, no item twice), or none. It is safe to make the same ones again. */
  batch(table: string, writes: readonly TableWrite[]): Promise<void>;

  /** The items after an id, in pages of some hundred. */
  pages(table: string, after: string): AsyncIterable<readonly TableItem[]>;

  /** The item; undefined if the table has none with this id. */
  find(table: string, id: string): Promise<TableItem | undefined>;

  /** Deletes the table with its items. */
  drop(table: string): Promise<void>;
}

export interface ItemRead {
  /** Undefined if unknown. */
  readonly count: number | undefined;
  /** The items in groups of neighbours. Read them once, or the lines. */
  groups(): AsyncIterable<readonly TableItem[]>;
  /** The items as JSON Lines. */
  jsonLines(): AsyncIterable<EncodedItems>;
}

export interface EncodedItems {
  readonly text: string;
  /** How many they are. */
  readonly items: number;
}

/** More pages would cost more than looking up each item of a batch. */
const pagesMax = 3;

/**
 * Finds which of these items a table has, and returns their names by id. It reads a page or two if the table has few other
 * items between them. A store with its own order, such as DynamoDB, may look sorted by chance; then the result may lack
 * items.
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
      if (compareIds(before, id) >= 0) return lookUpEach(tables, table, ids);
      found.set(id, name);
      before = id;
    }
    if (compareIds(before, last) >= 0) break;
    if (++pages === pagesMax) return lookUpEach(tables, table, ids);
  }
  const item = await tables.find(table, first);
  if (item !== undefined) found.set(first, item.name);
  return found;
}

/** Like `existingItems`, with a look-up of each item, for a table in any order. */
export async function lookUpEach(
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
