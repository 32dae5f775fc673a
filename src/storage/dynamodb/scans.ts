import { QueryCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { ServiceError } from '../../errors.ts';
import type { Scan, ScanOptions, ServiceSpace, Space } from '../engine.ts';
import { type Item, itemText } from '../item-text.ts';
import { scanChunkBytes } from '../limits.ts';
import type { Calls } from './calls.ts';
import { type Attributes, isService, itemOf, type Layout, namesOf, partitionsOf } from './layout.ts';
import { dynamoFirstPageItems, dynamoPageItemsMax, dynamoScanSegments } from './limits.ts';
import { merged, type Run } from './merged-runs.ts';
import { orMissing } from './spaces.ts';
import type { VerifiedTables } from './verified-tables.ts';

/** A page as it was read, and the key at which the next one begins. */
interface Page {
  readonly items: readonly Item[];
  readonly next: Attributes | undefined;
}

type ReadPage = (from: Attributes | undefined) => Promise<Page | undefined>;

/**
 * Scans read page by page. Each page is consistent at the time it is read. A whole table reads one page ahead, because
 * its readers want all of it. Every other scan requests the next page when the current one ends.
 */
export class Scans {
  readonly #calls: Calls;
  readonly #layout: Layout;
  readonly #verified: VerifiedTables;
  /** Tables that had more than one page when they were last read, with the item count of the first page. */
  readonly #large = new Map<Space, number>();

  constructor(calls: Calls, layout: Layout, verified: VerifiedTables) {
    this.#calls = calls;
    this.#layout = layout;
    this.#verified = verified;
  }

  async scan(space: Space, { after, limit, prefix }: ScanOptions): Promise<Scan | undefined> {
    const pages = isService(space)
      ? await this.#ordered(space, after)
      : await this.#table(space, { after, limit, prefix });
    if (pages === undefined) return undefined;
    const isEmpty = isService(space) && after === undefined && pages.isEmpty;
    return isEmpty ? undefined : { chunks: readChunks(limited(pages.items, limit)) };
  }

  /** A user's table, sorted by hash. */
  async #table(space: Space, { after, limit, prefix }: Sought) {
    if (!(await this.#verified.has(space))) return undefined;
    const isWhole = after === undefined && limit === undefined && prefix === undefined;
    const isParallel = isWhole && this.#large.has(space);
    const segments = isParallel ? dynamoScanSegments : 1;
    const reads = Array.from({ length: segments }, (_, segment) =>
      this.#scanPages(space, { limit, prefix, segment, segments }),
    );
    const start = after === undefined ? undefined : { id: { S: after } };
    const firsts = await Promise.all(reads.map((read) => read(start)));
    if (firsts.includes(undefined)) return undefined;
    const pages = firsts as Page[];
    if (isWhole) this.#noteSize(space, pages);
    const runs = pages.map((first, index) => following(first, reads[index] as ReadPage));
    return { items: isWhole ? interleaved(runs) : (runs[0] as Run), isEmpty: false };
  }

  /** All segments may end within their first pages although the table does not fit into one page. */
  #noteSize(space: Space, pages: readonly Page[]): void {
    const items = pages.reduce((sum, page) => sum + page.items.length, 0);
    if (pages.some(({ next }) => next !== undefined)) this.#large.set(space, this.#large.get(space) ?? items);
    else if (items < (this.#large.get(space) ?? Number.POSITIVE_INFINITY)) this.#large.delete(space);
  }

  #scanPages(
    space: Space,
    {
      limit,
      prefix,
      segment,
      segments,
    }: Pick<Sought, 'limit' | 'prefix'> & { segment: number; segments: number },
  ): ReadPage {
    const names = namesOf(space);
    const table = this.#layout.placeOf(space, '')?.table;
    // DynamoDB applies its limit before its filter.
    let left = prefix === undefined ? limit : undefined;
    return async (from) => {
      if (table === undefined) return undefined;
      const command = new ScanCommand({
        TableName: table,
        ConsistentRead: true,
        ProjectionExpression: 'id, #value',
        ExpressionAttributeNames: { '#value': names.value },
        ...(prefix === undefined ? {} : filterOf(prefix)),
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
        ...(left === undefined ? {} : { Limit: left }),
        ...(segments === 1 ? {} : { Segment: segment, TotalSegments: segments }),
      });
      const output = await orMissing(
        space,
        this.#calls.read((client, options) => client.send(command, options)),
      );
      if (output === undefined) return undefined;
      const items = (output.Items ?? []).map((item) => itemOf(item, names));
      if (left !== undefined) left = Math.max(1, left - items.length);
      return { items, next: output.LastEvaluatedKey };
    };
  }

  /** A service space: merges its partitions, each of which is sorted. */
  async #ordered(space: `service:${ServiceSpace}`, after: string | undefined) {
    const partitionNames = partitionsOf(space);
    const itemsMin = Math.ceil(dynamoFirstPageItems / partitionNames.length);
    const reads = partitionNames.map((partition) => this.#queryPages(space, partition, { after, itemsMin }));
    const firsts = (await Promise.all(reads.map((read) => read(undefined)))) as Page[];
    const partitions = firsts.map((first, index) => following(first, reads[index] as ReadPage));
    return { items: merged(partitions), isEmpty: firsts.every(isEmpty) };
  }

  #queryPages(
    space: Space,
    partition: string,
    { after, itemsMin }: { after: string | undefined; itemsMin: number },
  ): ReadPage {
    const names = namesOf(space);
    let limit = itemsMin;
    return async (from) => {
      const isAfter = after !== undefined;
      const command = new QueryCommand({
        TableName: this.#layout.systemTable,
        KeyConditionExpression: `#space = :space${isAfter ? ' AND id > :after' : ''}`,
        ExpressionAttributeNames: { '#space': 'space' },
        ExpressionAttributeValues: {
          ':space': { S: partition },
          ...(isAfter ? { ':after': { S: after } } : {}),
        },
        ConsistentRead: true,
        Limit: limit,
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      });
      limit = Math.min(2 * limit, dynamoPageItemsMax);
      const output = await orMissing(
        space,
        this.#calls.read((client, options) => client.send(command, options)),
      );
      return {
        items: (output?.Items ?? []).map((item) => itemOf(item, names)),
        next: output?.LastEvaluatedKey,
      };
    };
  }
}

interface Sought {
  readonly after: string | undefined;
  readonly limit: number | undefined;
  readonly prefix: string | undefined;
}

function filterOf(prefix: string) {
  return {
    FilterExpression: 'begins_with(id, :prefix)',
    ExpressionAttributeValues: { ':prefix': { S: prefix } },
  };
}

function isEmpty({ items, next }: Page): boolean {
  return items.length === 0 && next === undefined;
}

/** The pages of one run, in sequence. Throws `unavailable` when the table disappears meanwhile: the scan is incomplete. */
async function* following(first: Page, read: ReadPage): Run {
  let page: Page | undefined = first;
  for (;;) {
    yield page.items;
    if (page.next === undefined) return;
    page = await read(page.next);
    if (page === undefined)
      throw new ServiceError('unavailable', { detail: 'the table disappeared during the scan' });
  }
}

/** Pages of several runs, as they become ready. Each run reads its next page while the consumer has its current one. */
async function* interleaved(runs: readonly Run[]): Run {
  const pending = new Map(runs.map((run) => [run, pageOf(run)]));
  try {
    while (pending.size > 0) {
      const { run, result } = await Promise.race(pending.values());
      if (result.done) pending.delete(run);
      else {
        const next = pageOf(run);
        // When the consumer stops early, nobody handles this rejection.
        next.catch(() => undefined);
        pending.set(run, next);
        yield result.value;
      }
    }
  } finally {
    for (const run of runs) void run.return(undefined).catch(() => undefined);
  }
}

async function pageOf(run: Run) {
  return { run, result: await run.next() };
}

async function* limited(pages: Run, limit = Number.POSITIVE_INFINITY): Run {
  let left = limit;
  for await (const items of pages) {
    yield items.slice(0, left);
    left -= items.length;
    if (left <= 0) return;
  }
}

async function* readChunks(pages: Run): AsyncGenerator<Buffer> {
  let text = '';
  let isFirst = true;
  for await (const items of pages) {
    for (const { id, name } of items) {
      text += isFirst ? itemText(id, name) : `,${itemText(id, name)}`;
      isFirst = false;
      if (text.length >= scanChunkBytes) {
        yield Buffer.from(text);
        text = '';
      }
    }
  }
  if (text !== '') yield Buffer.from(text);
}
