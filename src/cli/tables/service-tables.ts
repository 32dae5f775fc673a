import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BatchWrite,
  Counterfoil,
  CounterfoilError,
  type Item,
  type PageOptions,
} from '../../../client/src/index.ts';
import { type ErrorCode, errorKinds, ServiceError } from '../../errors.ts';
import { itemText } from '../../storage/item-text.ts';
import type { TableFacts, TableWrite } from '../../tables/tables.ts';
import { UsageError, WorkFailed } from '../problems.ts';
import {
  type EncodedItems,
  existingItems,
  type ItemRead,
  lookUpEach,
  pageItems,
  type TableAccess,
} from './table-access.ts';

/** Batches that an import sends to a service at once: enough to share its flushes, few enough to leave it to others. */
const serviceBatchesAtOnce = 8;
/** How long a command repeats a request to a service that does not respond: a restart, or a deployment. */
const retryMsMax = 120_000;
/** The delay before it is repeated: doubled each time, from the minimum to the maximum. */
const retryPauseMsMin = 250;
const retryPauseMsMax = 5_000;

const keyVariable = 'COUNTERFOIL_API_KEY';

/** The tables of a running service. Its API key comes from the environment. Throws UsageError for an invalid address. */
export async function serviceTables(url: string): Promise<TableAccess> {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new UsageError('--url: must be the address of a service, such as https://api.shop.example');
  const key = process.env[keyVariable];
  return new ServiceTables(new Counterfoil({ url, ...(key ? { key } : {}) }));
}

class ServiceTables implements TableAccess {
  readonly batchesAtOnce = serviceBatchesAtOnce;
  readonly #client: Counterfoil;
  readonly #retry = new ServiceRetry();

  constructor(client: Counterfoil) {
    this.#client = client;
  }

  async *list(): AsyncGenerator<TableFacts> {
    try {
      for await (const page of this.#client.tables()) yield* page;
    } catch (error) {
      throw commandError(error);
    }
  }

  async read(table: string): Promise<ItemRead> {
    const count = await this.#run(() => this.#client.table(table).count());
    const groups = () => this.#groups(table);
    return { count, groups, jsonLines: () => encodeLines(groups()) };
  }

  /** If a response is lost, the retry shows what happened, because a batch is written whole or not at all. */
  async batch(table: string, writes: readonly TableWrite[]): Promise<void> {
    let mayBeWritten = false;
    await this.#run(async () => {
      try {
        await this.#client.table(table).batch(writes as readonly BatchWrite[]);
      } catch (error) {
        const { code, status } = error as CounterfoilError;
        if (mayBeWritten && code === 'item_exists' && (await this.#isCreated(table, writes))) return;
        // Without a response, or with one of a proxy, the service may have written the batch; likewise if its store did not
        // confirm.
        if (status === 0 ? code !== 'connection_failed' : code === 'unavailable') mayBeWritten = true;
        throw error;
      }
    });
  }

  async *pages(table: string, from: string): AsyncGenerator<readonly Item[]> {
    for (let after: string | undefined = from; after !== undefined; ) {
      const options: PageOptions = { limit: pageItems, after };
      const { value } = await this.#run(() => this.#client.table(table).pages(options).next());
      const page = (value ?? []) as readonly Item[];
      yield page;
      after = page.at(-1)?.id;
    }
  }

  find(table: string, id: string): Promise<Item | undefined> {
    return this.#run(() => this.#client.table(table).get(id));
  }

  /** Not retried after a lost response: the table may have been created again meanwhile. */
  async drop(table: string): Promise<void> {
    await this.#client
      .table(table)
      .drop()
      .catch((error) => {
        throw commandError(error);
      });
  }

  async *#groups(table: string): AsyncGenerator<readonly Item[]> {
    let group: Item[] = [];
    try {
      for await (const item of this.#client.table(table).all()) {
        if (group.push(item) < groupItems) continue;
        yield group;
        group = [];
      }
    } catch (error) {
      throw commandError(error);
    }
    yield group;
  }

  /** Whether the table has these items, with these names. */
  async #isCreated(table: string, writes: readonly TableWrite[]): Promise<boolean> {
    const items = writes.map((write) => Object.values(write)[0] as Item);
    const ids = items.map(({ id }) => id);
    const isIn = (found: ReadonlyMap<string, string>) =>
      items.every(({ id, name }) => found.get(id) === name);
    return isIn(await existingItems(this, table, ids)) || isIn(await lookUpEach(this, table, ids));
  }

  async #run<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await this.#retry.run(work);
    } catch (error) {
      throw error instanceof CounterfoilError ? commandError(error) : error;
    }
  }
}

/** Items that are written to a file at once. */
const groupItems = 1_000;

async function* encodeLines(groups: AsyncIterable<readonly Item[]>): AsyncGenerator<EncodedItems> {
  for await (const group of groups) {
    let text = '';
    for (const { id, name } of group) text += `${itemText(id, name)}\n`;
    yield { text, items: group.length };
  }
}

/** A service or a network may be away for a while. A request that is sent again must be safe to execute twice. */
const temporaryCodes: ReadonlySet<string> = new Set([
  'connection_failed',
  'network_error',
  'timeout',
  'invalid_response',
  'request_timeout',
  'rate_limited',
  'overloaded',
  'unavailable',
]);

/** Retries requests to a service until they succeed, and waits for `Retry-After`. */
class ServiceRetry {
  /** Before the first success, the address is more likely wrong than the service away. */
  #hasSucceeded = false;

  /** Throws the last error when it is not temporary, or after `retryMsMax` without a response of the service. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    let until = performance.now() + retryMsMax;
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await work();
        this.#hasSucceeded = true;
        return result;
      } catch (error) {
        const { code, status } = error as CounterfoilError;
        if (status === 429) until = performance.now() + retryMsMax;
        const isAway = temporaryCodes.has(code) && (this.#hasSucceeded || code !== 'connection_failed');
        const waitMs = retryPauseMs(attempt, error as CounterfoilError);
        if (!isAway || performance.now() + waitMs > until) throw error;
        await sleep(waitMs);
      }
    }
  }
}

/** At least `Retry-After`. Half of the rest is random, so that several batches do not come back at once. */
function retryPauseMs(attempt: number, { headers }: CounterfoilError): number {
  const doubled = Math.min(retryPauseMsMin * 2 ** attempt, retryPauseMsMax);
  const seconds = Number(headers?.get('retry-after') ?? 0) || 0;
  return seconds * 1_000 + doubled * (0.5 + Math.random() / 2);
}

/** An error of the client as a command reports it. */
function commandError(error: unknown): unknown {
  if (!(error instanceof CounterfoilError)) return error;
  const { type, code, message, param, requestId } = error;
  // A newer service may have codes that are not known here.
  if (type === 'client' || !Object.hasOwn(errorKinds, code)) return new WorkFailed(code, message);
  const request = requestId === undefined ? '' : ` (request ${requestId})`;
  const hint = code === 'unauthenticated' ? ' Give it as COUNTERFOIL_API_KEY.' : '';
  // Only an error of the service itself needs the log.
  return new ServiceError(code as ErrorCode, {
    message: code === 'internal' ? message + request : message + hint,
    param,
  });
}
