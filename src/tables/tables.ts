import { ServiceError } from '../errors.ts';
import { itemBytesMax, itemIdBytesMax, tableNameCharactersMax } from '../limits.ts';
import type { Engine, Refusal, Scan, Space, Write } from '../storage/engine.ts';

export type { Scan };

/** Who may make a table: anyone by its first `create` (`open`), or the settings alone (`declared`). */
export interface TablePolicy {
  readonly tables: 'open' | 'declared';
  /** Under `declared`, the tables there are; each exists, empty, before its first item. */
  readonly declared: readonly string[];
}

export interface TableItem {
  readonly id: string;
  readonly name: string;
}

const tableNamePattern = new RegExp(`^[A-Za-z0-9_.-]{1,${tableNameCharactersMax}}$`);

const emptyTable: Scan = { count: 0, textBytes: 0, version: '0', chunks: [] };

/** The rules of key-value tables; where the items lie is the engine's affair. */
export class Tables {
  readonly #engine: Engine;
  readonly #policy: TablePolicy;

  constructor(engine: Engine, policy: TablePolicy) {
    this.#engine = engine;
    this.#policy = policy;
  }

  /**
   * Every item as of one moment, ordered by the UTF-8 bytes of the ids, as runs of JSON text (see Engine.scan).
   * Refuses with `invalid_request` (name), `table_not_found`.
   */
  async read(table: string): Promise<Scan> {
    const scan = await this.#engine.scan(tableSpace(table));
    if (scan !== undefined) return scan;
    if (this.#isDeclared(table)) return emptyTable;
    throw tableNotFound();
  }

  /**
   * Adds an item; durable when it resolves. Refuses with `invalid_request`, `item_exists` and, where tables are
   * declared, `table_not_found`.
   */
  async create(table: string, item: TableItem): Promise<void> {
    const space = tableSpace(table);
    checkItem(item);
    const makeSpace = this.#policy.tables === 'open' || this.#isDeclared(table);
    await this.#commit({ kind: 'create', space, id: item.id, value: item.name, makeSpace });
  }

  /**
   * Changes the name of an item; durable when it resolves. Refuses with `invalid_request`, `table_not_found`,
   * `item_not_found`.
   */
  async update(table: string, item: TableItem): Promise<void> {
    const space = tableSpace(table);
    checkItem(item);
    await this.#commit({ kind: 'replace', space, id: item.id, value: item.name });
  }

  async #commit(write: Write & { space: Space }): Promise<void> {
    const refusal = await this.#engine.commit([write]);
    if (refusal !== undefined) throw await this.#refused(refusal, write.space);
  }

  async #refused({ reason }: Refusal, space: Space): Promise<ServiceError> {
    if (reason === 'exists') return new ServiceError('item_exists', { param: 'id' });
    if (reason === 'differs') return new ServiceError('precondition_failed');
    if (reason === 'space_missing') return tableNotFound();
    const table = space.slice('table:'.length);
    const tableExists = this.#isDeclared(table) || (await this.#engine.describe(space)) !== undefined;
    return tableExists ? new ServiceError('item_not_found', { param: 'id' }) : tableNotFound();
  }

  #isDeclared(table: string): boolean {
    return this.#policy.declared.includes(table);
  }
}

/**
 * The space of a user's table. `.` and `..` are within the alphabet but refused: in a path they mean "here" and
 * "up" (RFC 3986, 5.2.4), so that most clients could not address such a table.
 */
export function tableSpace(table: string): Space {
  if (!tableNamePattern.test(table) || table === '.' || table === '..') {
    throw new ServiceError('invalid_request', {
      param: 'TABLE_NAME',
      message: `TABLE_NAME must be 1 to ${tableNameCharactersMax} characters of A-Z, a-z, 0-9, "_", "." and "-", and not "." or "..".`,
    });
  }
  return `table:${table}`;
}

function checkItem({ id, name }: TableItem): void {
  const idBytes = wellFormedBytes('id', id);
  if (idBytes === 0 || idBytes > itemIdBytesMax) {
    throw new ServiceError('invalid_request', {
      param: 'id',
      message: `id must be 1 to ${itemIdBytesMax} bytes of UTF-8; this one has ${idBytes}.`,
    });
  }
  const itemBytes = idBytes + wellFormedBytes('name', name);
  if (itemBytes > itemBytesMax) {
    throw new ServiceError('invalid_request', {
      param: 'name',
      message: `id and name together must be at most ${itemBytesMax} bytes of UTF-8; these have ${itemBytes}.`,
    });
  }
}

function wellFormedBytes(param: string, text: string): number {
  if (!text.isWellFormed()) {
    throw new ServiceError('invalid_request', {
      param,
      message: `${param} holds half of a surrogate pair, which UTF-8 cannot carry.`,
    });
  }
  return Buffer.byteLength(text);
}

function tableNotFound(): ServiceError {
  return new ServiceError('table_not_found', { param: 'TABLE_NAME' });
}
