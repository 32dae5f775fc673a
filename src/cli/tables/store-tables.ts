import { openOfflineTables } from '../../app/offline.ts';
import { audited } from '../../audit/audit.ts';
import { peoplePageMax } from '../../sign-in/limits.ts';
import type { Chunks } from '../../storage/engine.ts';
import { groupsOf } from '../../storage/item-text.ts';
import type { Page } from '../../tables/page.ts';
import type { TableFacts, TableItem, Tables, TableWrite } from '../../tables/tables.ts';
import { withOpened } from '../command.ts';
import { pageItems, storeBatchesAtOnce } from '../limits.ts';
import type { EncodedItems, ItemRead, TableAccess } from './table-access.ts';

/** Opens the tables of the settings' store for the work. The service may be running. Throws SettingsError. */
export function withStoreTables<Result>(work: (tables: TableAccess) => Promise<Result>): Promise<Result> {
  return withOpened(openOfflineTables, ({ tables }) => work(new StoreTables(tables)));
}

class StoreTables implements TableAccess {
  readonly batchesAtOnce = storeBatchesAtOnce;
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  async *list(): AsyncGenerator<TableFacts> {
    let after: string | undefined;
    do {
      const page = await this.#tables.list(peoplePageMax, after, () => true);
      yield* page.tables;
      after = page.next;
    } while (after !== undefined);
  }

  async read(table: string): Promise<ItemRead> {
    const { count, chunks } = await this.#tables.read(table);
    return { count, groups: () => groupsOf(chunks), jsonLines: () => linesOf(chunks) };
  }

  batch(table: string, writes: readonly TableWrite[]): Promise<void> {
    return this.#tables.batch(table, writes);
  }

  async *pages(table: string, from: string): AsyncGenerator<readonly TableItem[]> {
    let after: string | undefined = from;
    do {
      const page: Page = await this.#tables.page(table, pageItems, { after });
      yield page.items;
      after = page.next;
    } while (after !== undefined);
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

/** Between two items; a string of JSON has no quote without a backslash. */
const between = '},{"id":';

/** A scan has the items as JSON already. */
async function* linesOf(chunks: Chunks): AsyncGenerator<EncodedItems> {
  for await (const chunk of chunks) {
    const text = chunk.toString();
    const items = (text.startsWith(',') ? text.slice(1) : text).split(between);
    yield { text: `${items.join('}\n{"id":')}\n`, items: items.length };
  }
}
