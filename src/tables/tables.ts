import { invalidRequest, ServiceError } from '../errors.ts';
import type { Engine, Reads, Rejection, Scan, Space, SpaceFacts, Write } from '../storage/engine.ts';
import { dropSpace } from './drop-space.ts';
import {
  type EntityTags,
  type ItemText,
  ItemTexts,
  itemTag,
  type PutCondition,
  unmetCondition,
} from './entity-tags.ts';
import { checkPage, firstItems, type Page, type PageRange } from './page.ts';
import { checkId, checkItem, type TableItem, tableName, tableSpace } from './table-item.ts';
import type { TablePolicy } from './table-list.ts';
import { emptyFacts, listTables, type TableFacts, type TableList } from './table-list.ts';

export type { Reads, Scan, SpaceFacts, TableFacts, TableItem, TablePolicy };

/** One write of a batch. */
export type TableWrite =
  | { readonly create: TableItem }
  | { readonly update: TableItem }
  | { readonly put: TableItem }
  | { readonly delete: Pick<TableItem, 'id'> };

/** The rules of key-value tables; the engine stores the items. */
export class Tables {
  readonly #engine: Engine;
  readonly #policy: TablePolicy;
  readonly #texts: ItemTexts;
  readonly #caller: string | undefined;

  /** @param caller see `by` */
  constructor(engine: Engine, policy: TablePolicy, texts = new ItemTexts(), caller?: string) {
    this.#engine = engine;
    this.#policy = policy;
    this.#texts = texts;
    this.#caller = caller;
  }

  /** The same tables for one caller: the engine shares its time among the callers that write. */
  by(caller: string): Tables {
    return new Tables(this.#engine, this.#policy, this.#texts, caller);
  }

  /** The consistency of `read` and `page`: a snapshot, or page by page. */
  get reads(): Reads {
    return this.#engine.reads;
  }

  /** What is known about a table without reading it. Throws `invalid_request` (name), `table_not_found`. */
  async describe(table: string): Promise<SpaceFacts> {
    return (await this.#engine.describe(this.#space(table))) ?? this.#emptyTable(table);
  }

  /**
   * Every item, with the consistency in `reads`, as JSON text (see Engine.scan).
   * Throws `invalid_request` (name), `table_not_found`.
   */
  async read(table: string): Promise<Scan> {
    return (await this.#engine.scan(this.#space(table))) ?? this.#emptyTable(table);
  }

  /** The number of items. Throws `invalid_request` (name), `table_not_found`. */
  async count(table: string): Promise<number> {
    return (await this.#engine.count(this.#space(table))) ?? this.#emptyTable(table).count ?? 0;
  }

  /**
   * At most `limit` tables after a name, in the order of their names.
   *
   * @param isVisible whether the caller may read the table
   */
  list(limit: number, after: string | undefined, isVisible: (table: string) => boolean): Promise<TableList> {
    return listTables({ engine: this.#engine, policy: this.#policy }, { limit, after, isVisible });
  }

  /** One item. Throws `invalid_request`, `table_not_found`, `item_not_found`. */
  async find(table: string, id: string): Promise<ItemText> {
    checkId(id);
    const space = this.#space(table);
    const value = await this.#engine.get(space, id);
    if (value === undefined) throw await this.#notFound(space);
    return this.#texts.get(space, id, value);
  }

  /**
   * At most `limit` items after an id, whose ids begin with a prefix; fewer when they reach `pageBytesMax`.
   * Throws `invalid_request`, `table_not_found`.
   *
   * @param turn resolves when the page may be built, which takes some milliseconds at most
   */
  async page(
    table: string,
    limit: number,
    { after, prefix }: PageRange,
    turn?: () => Promise<void>,
  ): Promise<Page> {
    checkPage(limit, { after, prefix });
    // One item more than requested shows whether there are more.
    const range = { limit: limit + 1, after, prefix };
    const scan = (await this.#engine.scan(this.#space(table), range)) ?? this.#emptyTable(table);
    await turn?.();
    return firstItems(scan, limit);
  }

  /**
   * Adds an item; durable when it resolves. Throws `invalid_request`, `item_exists` and, when tables are declared,
   * `table_not_found`.
   */
  async create(table: string, item: TableItem): Promise<void> {
    await this.#commit(table, [this.#write(table, { create: item })]);
  }

  /**
   * Changes the name of an item; durable when it resolves. Throws `invalid_request`, `table_not_found`,
   * `item_not_found` and, when tags are given and the item's tag is not among them, `precondition_failed`.
   */
  async update(table: string, item: TableItem, ifMatch?: EntityTags): Promise<void> {
    await this.#writeIfMatching(table, this.#write(table, { update: item }), ifMatch);
  }

  /**
   * Adds an item or changes its name; durable when it resolves. Throws `invalid_request`, `table_not_found` when tables are
   * declared and, when the condition does not hold, `precondition_failed`.
   */
  async put(table: string, item: TableItem, condition?: PutCondition): Promise<void> {
    if (condition === undefined) return this.#commit(table, [this.#write(table, { put: item })]);
    const write =
      condition === 'ifNew'
        ? this.create(table, item)
        : this.#writeIfMatching(table, this.#write(table, { update: item }), condition.ifMatch);
    await write.catch((error) => {
      throw unmetCondition.get((error as Partial<ServiceError>).code) ?? error;
    });
  }

  /** Removes an item; durable when it resolves. Throws the same errors as `update`. */
  async delete(table: string, { id }: Pick<TableItem, 'id'>, ifMatch?: EntityTags): Promise<void> {
    await this.#writeIfMatching(table, this.#write(table, { delete: { id } }), ifMatch);
  }

  /**
   * Makes all of 1 to `commitWritesMax` writes, or none; durable when it resolves. Throws the errors of the single
   * writes, with the index of the write, and `invalid_request` for two writes of one item.
   */
  async batch(table: string, writes: readonly TableWrite[]): Promise<void> {
    const ids = new Set<string>();
    const commit = writes.map((write, index) => {
      const { id } = Object.values(write)[0] as Pick<TableItem, 'id'>;
      if (ids.has(id)) {
        const message = 'The batch writes this item twice.';
        throw atWrite(index, invalidRequest('id', message));
      }
      ids.add(id);
      try {
        return this.#write(table, write);
      } catch (error) {
        throw error instanceof ServiceError ? atWrite(index, error) : error;
      }
    });
    const rejection = await this.#engine.commit(commit, this.#caller);
    if (rejection !== undefined)
      throw atWrite(rejection.write, await this.#rejectionError(rejection, tableSpace(table)));
  }

  /**
   * Deletes all items, in commits of `commitWritesMax`, and then the table; a declared table stays, empty. If the process is killed, the
   * table keeps the remaining items. Items that others create meanwhile are deleted too.
   * Throws `invalid_request` (name), `table_not_found`, `overloaded` when others keep creating items.
   *
   * @param audit the audit entry (`audited`). It is committed before the first item is deleted, because the items take several
   *   commits
   */
  async drop(table: string, audit: Write): Promise<void> {
    const space = this.#space(table);
    const isDeclared = this.#isDeclared(table);
    await this.describe(table);
    await this.#engine.commit([audit], this.#caller);
    const isFound = await dropSpace(this.#engine, space, { keepsSpace: isDeclared, caller: this.#caller });
    if (!isFound && !isDeclared) throw tableNotFound();
  }

  /** The write that creates an item, for a commit of another domain. Throws `invalid_request`. */
  creation(table: string, item: TableItem): Write {
    return this.#write(table, { create: item });
  }

  /** The write that deletes an item unless it has changed, for a commit of another domain. Throws ServiceError. */
  deletion(table: string, item: TableItem): Write {
    return { kind: 'delete', space: this.#space(table), id: item.id, ifValue: item.name };
  }

  #write(table: string, write: TableWrite): Write {
    const space = this.#space(table);
    if ('delete' in write) {
      checkId(write.delete.id);
      return { kind: 'delete', space, id: write.delete.id };
    }
    const { id, name } = Object.values(write)[0] as TableItem;
    checkItem({ id, name });
    if ('update' in write) return { kind: 'replace', space, id, value: name };
    const makeSpace = this.#policy.tables === 'open' || this.#isDeclared(table);
    return { kind: 'put' in write ? 'put' : 'create', space, id, value: name, makeSpace };
  }

  async #writeIfMatching(table: string, write: Write, ifMatch: EntityTags | undefined): Promise<void> {
    // `*` is true whenever the item exists (RFC 9110, 13.1.1), and an update or delete of a missing item fails by itself.
    if (ifMatch === undefined || ifMatch === 'any') return this.#commit(table, [write]);
    const value = await this.#engine.get(write.space, write.id);
    if (value === undefined) throw await this.#notFound(write.space);
    if (!ifMatch.includes(itemTag({ id: write.id, name: value })))
      throw new ServiceError('precondition_failed');
    // The item may change between this check and the commit; then the engine rejects the commit.
    return this.#commit(table, [{ ...write, ifValue: value } as Write]);
  }

  async #commit(table: string, writes: readonly Write[]): Promise<void> {
    const rejection = await this.#engine.commit(writes, this.#caller);
    if (rejection !== undefined) throw await this.#rejectionError(rejection, tableSpace(table));
  }

  async #rejectionError({ reason }: Rejection, space: Space): Promise<ServiceError> {
    if (reason === 'exists') return new ServiceError('item_exists', { param: 'id' });
    if (reason === 'differs') return new ServiceError('precondition_failed');
    return reason === 'space_missing' ? tableNotFound() : this.#notFound(space);
  }

  async #notFound(space: Space): Promise<ServiceError> {
    const exists = this.#isDeclared(tableName(space)) || (await this.#engine.describe(space)) !== undefined;
    return exists ? new ServiceError('item_not_found', { param: 'id' }) : tableNotFound();
  }

  /** A declared table exists before its first item. */
  #emptyTable(table: string): Scan {
    if (this.#isDeclared(table)) return { ...(this.reads === 'snapshot' ? emptyFacts : {}), chunks: [] };
    throw tableNotFound();
  }

  /** When tables are declared, other tables of the engine do not exist for callers. */
  #space(table: string): Space {
    const space = tableSpace(table);
    if (this.#policy.tables === 'declared' && !this.#isDeclared(table)) throw tableNotFound();
    return space;
  }

  #isDeclared(table: string): boolean {
    return this.#policy.declared.includes(table);
  }
}

function tableNotFound(): ServiceError {
  return new ServiceError('table_not_found', { param: 'TABLE_NAME' });
}

/** Adds the index of a write in a batch to its error. */
function atWrite(index: number, error: ServiceError): ServiceError {
  const { param, message = error.message } = error.details;
  return new ServiceError(error.code, {
    ...error.details,
    param: param === 'id' || param === 'name' ? `writes.${index}.${param}` : param,
    message: `Write ${index}: ${message}`,
  });
}
