import type { TableFacts, TableItem, TableWrite } from '../../tables/tables.ts';

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
