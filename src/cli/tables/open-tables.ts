import { audited } from '../../audit/audit.ts';
import { peoplePageMax } from '../../sign-in/limits.ts';
import type { Chunks } from '../../storage/engine.ts';
import { groupsOf } from '../../storage/item-text.ts';
import type { TableFacts, TableItem, Tables, TableWrite } from '../../tables/tables.ts';
import { pages, withOpened } from '../command.ts';
import { keepHeapSmall } from '../memory.ts';
import type { EncodedItems, ItemRead, TableAccess } from './table-access.ts';
import { pageItems } from './table-access.ts';

/** Batches that an import writes to the store at once: they share flushes, and the writer never waits for the next ones. */
const storeBatchesAtOnce = 64;

/** The option of every command on tables. */
export interface UrlOption {
  /** The address of a service; without it the commands work on the store of the settings. */
  readonly url?: string;
}

/** Opens the tables for the work, and closes them after it. Throws UsageError, SettingsError. */
export async function withTables<Result>(
  { url }: UrlOption,
  work: (tables: TableAccess) => Promise<Result>,
): Promise<Result> {
  keepHeapSmall();
  if (url !== undefined) {
    const { serviceTables } = await import('./service-tables.ts');
    return work(await serviceTables(url));
  }
  const { openOfflineTables } = await import('../../app/offline.ts');
  return withOpened(openOfflineTables, ({ tables }) => work(new StoreTables(tables)));
}

class StoreTables implements TableAccess {
  readonly batchesAtOnce = storeBatchesAtOnce;
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  async *list(): AsyncGenerator<TableFacts> {
    const read = (after?: string) => this.#tables.list(peoplePageMax, after, () => true);
    for await (const { tables } of pages(read)) yield* tables;
  }

  async read(table: string): Promise<ItemRead> {
    const { count, chunks } = await this.#tables.read(table);
    return { count, groups: () => groupsOf(chunks), jsonLines: () => encodeLines(chunks) };
  }

  batch(table: string, writes: readonly TableWrite[]): Promise<void> {
    return this.#tables.batch(table, writes);
  }

  async *pages(table: string, from: string): AsyncGenerator<readonly TableItem[]> {
    const read = (after?: string) => this.#tables.page(table, pageItems, { after });
    for await (const { items } of pages(read, from)) yield items;
  }

  async find(table: string, id: string): Promise<TableItem | undefined> {
    try {
      return JSON.parse((await this.#tables.find(table, id)).text) as TableItem;
    } catch (error) {
      if ((error as { code?: unknown }).code === 'item_not_found') return undefined;
      throw error;
    }
  }

  drop(table: string): Promise<void> {
    return this.#tables.drop(table, audited({ what: 'table.dropped', on: table, by: 'cli' }));
  }
}

/** The text between two items. No JSON string contains it, because a quote in a string has a backslash. */
const between = '},{"id":';

/** A scan already returns the items as JSON. */
async function* encodeLines(chunks: Chunks): AsyncGenerator<EncodedItems> {
  for await (const chunk of chunks) {
    const text = chunk.toString();
    const items = (text.startsWith(',') ? text.slice(1) : text).split(between);
    yield { text: `${items.join('}\n{"id":')}\n`, items: items.length };
  }
}
