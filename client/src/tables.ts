import { CounterfoilError } from './error.ts';
import { type Call, type Http, path } from './http.ts';
import { itemGroups } from './items.ts';
import { again, sendAgain } from './retry.ts';

export interface Item {
  readonly id: string;
  readonly name: string;
}

export interface StoredItem extends Item {
  /** Changes whenever the item changes. Pass it as `ifMatch` to guard a write. */
  readonly etag: string;
}

/** One write of a batch. */
export type BatchWrite =
  | { readonly create: Item; readonly update?: never; readonly put?: never; readonly delete?: never }
  | { readonly update: Item; readonly create?: never; readonly put?: never; readonly delete?: never }
  | { readonly put: Item; readonly create?: never; readonly update?: never; readonly delete?: never }
  | {
      readonly delete: { readonly id: string };
      readonly create?: never;
      readonly update?: never;
      readonly put?: never;
    };

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface GuardOptions extends CallOptions {
  /** Writes only if the item still has this `etag`. Otherwise throws `precondition_failed`. */
  readonly ifMatch?: string;
}

export interface PageOptions extends CallOptions {
  /** The maximum number of items on a page, 1 to 1,000. */
  readonly limit?: number;
  /** The page starts after this id. */
  readonly after?: string;
  /** Selects only items whose ids begin with this text. */
  readonly prefix?: string;
}

export interface PutOptions extends GuardOptions {
  /** Writes only if the table has no item with this id. Otherwise throws `precondition_failed`. */
  readonly ifNew?: boolean;
}

export interface ListTables extends CallOptions {
  /** The maximum number of tables on a page, 1 to 100. */
  readonly limit?: number;
  /** The page starts after this name. */
  readonly after?: string;
}

export interface TableFacts {
  readonly name: string;
  /** The number of items; absent if the service stores them in DynamoDB. */
  readonly count?: number;
  /** The bytes of the items as JSON; absent if `count` is. */
  readonly bytes?: number;
}

/** Pages of tables, each read when it is asked for. */
export async function* listTables(
  http: Http,
  { signal, limit, after: from }: ListTables,
): AsyncGenerator<readonly TableFacts[]> {
  let after = from;
  do {
    const call: Call = { method: 'GET', path: '/v3/tables', query: { limit, after }, signal };
    const { body, next } = await sendAgain<TableFacts[]>(http, call);
    yield body;
    after = next;
  } while (after !== undefined);
}

/**
 * Every item of a table at one moment, ordered by id. `await` returns an array. `for await` yields the items one by one
 * while they arrive, without holding all of them in memory.
 */
export interface AllItems extends PromiseLike<Item[]>, AsyncIterable<Item> {}

export class Table {
  readonly #http: Http;
  readonly #path: string;

  /** @internal */
  constructor(http: Http, name: string) {
    this.#http = http;
    this.#path = path('/v3/table', name);
  }

  all({ signal }: CallOptions = {}): AllItems {
    return new ReadOfAll(this.#http, { method: 'GET', path: `${this.#path}/read`, signal });
  }

  /** Undefined if the table has no item with this id. */
  async get(id: string, options: CallOptions = {}): Promise<StoredItem | undefined> {
    try {
      const call: Call = { method: 'GET', path: `${this.#path}/read`, query: { id }, signal: options.signal };
      const { body, headers } = await sendAgain<Item>(this.#http, call);
      return { ...body, etag: headers.get('etag') ?? '' };
    } catch (error) {
      if (error instanceof CounterfoilError && error.code === 'item_not_found') return undefined;
      throw error;
    }
  }

  /** Pages of items, each read when it is asked for: the table can change between two pages. */
  async *pages({ signal, ...query }: PageOptions = {}): AsyncGenerator<readonly Item[]> {
    let after = query.after;
    do {
      const call: Call = {
        method: 'GET',
        path: `${this.#path}/read`,
        query: { limit: query.limit ?? 1_000, after, prefix: query.prefix },
        signal,
      };
      const { body, next } = await sendAgain<Item[]>(this.#http, call);
      yield body;
      after = next;
    } while (after !== undefined);
  }

  /** The number of items. */
  async count({ signal }: CallOptions = {}): Promise<number> {
    const call: Call = { method: 'GET', path: `${this.#path}/read`, query: { count: 'true' }, signal };
    return (await sendAgain<{ count: number }>(this.#http, call)).body.count;
  }

  /** Creates the item, or replaces the one with its id. */
  put({ id, name }: Item, options: PutOptions = {}): Promise<void> {
    return this.#write('PUT', 'put', { id, name }, options);
  }

  /** Deletes the table with all of its items. Needs a key with the scope `admin`. */
  async drop({ signal }: CallOptions = {}): Promise<void> {
    await sendAgain(this.#http, { method: 'DELETE', path: this.#path, signal });
  }

  /** Throws `item_exists` if the table has an item with this id. */
  create({ id, name }: Item, options: CallOptions = {}): Promise<void> {
    return this.#write('POST', 'create', { id, name }, options);
  }

  /** Throws `item_not_found` if the table has no item with this id. */
  update({ id, name }: Item, options: GuardOptions = {}): Promise<void> {
    return this.#write('PUT', 'update', { id, name }, options);
  }

  /** Throws `item_not_found` if the table has no item with this id. */
  delete(id: string, options: GuardOptions = {}): Promise<void> {
    return this.#write('DELETE', 'delete', { id }, options);
  }

  /** Up to 100 writes, all or nothing. An error names the write in `param`: `writes.2.id`. */
  batch(writes: readonly BatchWrite[], options: CallOptions = {}): Promise<void> {
    return this.#write('POST', 'batch', { writes }, options);
  }

  /** Throws `network_error`, `timeout`, `aborted` or `unavailable` if it is unknown whether the write was made. */
  async #write(
    method: string,
    operation: string,
    body: object,
    { signal, ifMatch, ifNew }: PutOptions,
  ): Promise<void> {
    await sendAgain(this.#http, {
      method,
      path: `${this.#path}/${operation}`,
      body,
      headers: { 'if-match': ifMatch, 'if-none-match': ifNew === true ? '*' : undefined },
      signal,
    });
  }
}

/** One read of a whole table. Each `await` and each loop sends a separate request. */
class ReadOfAll implements AllItems {
  readonly #http: Http;
  readonly #call: Call;

  constructor(http: Http, call: Call) {
    this.#http = http;
    this.#call = call;
  }

  // biome-ignore lint/suspicious/noThenProperty: the result is for `await` and for `for await`
  then<Fulfilled = Item[], Rejected = never>(
    fulfilled?: ((items: Item[]) => Fulfilled | PromiseLike<Fulfilled>) | null,
    rejected?: ((error: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    const reading = sendAgain<Item[]>(this.#http, this.#call).then(({ body }) => body);
    return reading.then(fulfilled, rejected);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    const { signal } = this.#call;
    const { body } = await again(() => this.#http.open(this.#call), true, signal);
    for await (const group of itemGroups<Item>(body as ReadableStream<Uint8Array>, signal)) yield* group;
  }
}
