import { QueryCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import type { Scan, ScanOptions, ServiceSpace, Space } from '../engine.ts';
import { itemText } from '../item-text.ts';
import { scanChunkBytes } from '../limits.ts';
import type { Calls } from './calls.ts';
import type { Attributes } from './errors.ts';
import { isService, type Layout, listPartitions, namesIn, readItem } from './layout.ts';
import { interleave, limitItems, merge, type Page, type ReadPage, type Run, readRun } from './runs.ts';
import { orMissing, type Spaces } from './spaces.ts';

/** Concurrent scans of one table: each buffers a page of up to 1 MiB while another one is sent. */
export const scanSegments = 4;
/** Items of the first page of a service space. Each page doubles them, because most readers stop early. */
const firstQueryItems = 64;
const queryItemsMax = 1_024;

/**
 * Scans and counts, read page by page. Each page is consistent at the time it is read. The scan of a whole table reads one page
 * ahead, because its readers want all of it. Every other scan requests the next page when the current one ends.
 */
export class Scans {
  readonly #calls: Calls;
  readonly #layout: Layout;
  readonly #spaces: Spaces;
  /** Tables whose key is verified: a scan of a table with a sort key would return several items per id. */
  readonly #verified = new Set<Space>();
  /** Tables that had more than one page when they were last read, with the item count of the first page. */
  readonly #large = new Map<Space, number>();

  constructor(calls: Calls, layout: Layout, spaces: Spaces) {
    this.#calls = calls;
    this.#layout = layout;
    this.#spaces = spaces;
  }

  async scan(space: Space, { after, limit, prefix }: ScanOptions): Promise<Scan | undefined> {
    const pages = isService(space)
      ? await this.#ordered(space, after)
      : await this.#table(space, { after, limit, prefix });
    if (pages === undefined) return undefined;
    const isEmpty = isService(space) && after === undefined && pages.isEmpty;
    return isEmpty ? undefined : { chunks: writeChunks(limitItems(pages.items, limit)) };
  }

  /** Counts the items of a table by reading all of it: the number that DynamoDB keeps is up to six hours old. */
  async count(space: Space): Promise<number | undefined> {
    const table = this.#layout.placeOf(space, '')?.table;
    if (table === undefined || !(await this.#exists(space))) return undefined;
    let count = 0;
    let from: Attributes | undefined;
    do {
      const command = new ScanCommand({
        TableName: table,
        ConsistentRead: true,
        Select: 'COUNT',
        ExclusiveStartKey: from,
      });
      const page = await orMissing(space, this.#calls.read(command));
      if (page === undefined) return undefined;
      count += page.Count ?? 0;
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return count;
  }

  /** False if the table does not exist. Throws if its key is another one. */
  async #exists(space: Space): Promise<boolean> {
    if (this.#verified.has(space)) return true;
    if (!(await this.#spaces.exists(space))) return false;
    this.#verified.add(space);
    return true;
  }

  /** Scans a user's table, sorted by hash. */
  async #table(space: Space, { after, limit, prefix }: Range) {
    if (!(await this.#exists(space))) return undefined;
    const isWhole = after === undefined && limit === undefined && prefix === undefined;
    const isParallel = isWhole && this.#large.has(space);
    const segments = isParallel ? scanSegments : 1;
    const reads = Array.from({ length: segments }, (_, segment) =>
      this.#scanPages(space, { limit, prefix, segment, segments }),
    );
    const start = after === undefined ? undefined : { id: { S: after } };
    const firsts = await Promise.all(reads.map((read) => read(start)));
    if (firsts.includes(undefined)) return undefined;
    const pages = firsts as Page[];
    if (isWhole) this.#noteSize(space, pages);
    const runs = pages.map((first, index) => readRun(first, reads[index] as ReadPage));
    return { items: isWhole ? interleave(runs) : (runs[0] as Run), isEmpty: false };
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
    }: Pick<Range, 'limit' | 'prefix'> & { segment: number; segments: number },
  ): ReadPage {
    const names = namesIn(space);
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
        ...(prefix === undefined ? {} : prefixFilter(prefix)),
        ExclusiveStartKey: from,
        Limit: left,
        ...(segments === 1 ? {} : { Segment: segment, TotalSegments: segments }),
      });
      const output = await orMissing(space, this.#calls.read(command));
      if (output === undefined) return undefined;
      const items = (output.Items ?? []).map((item) => readItem(item, names));
      if (left !== undefined) left = Math.max(1, left - items.length);
      return { items, next: output.LastEvaluatedKey };
    };
  }

  /** Scans a service space by merging its sorted partitions. */
  async #ordered(space: `service:${ServiceSpace}`, after: string | undefined) {
    const partitionNames = listPartitions(space);
    const itemsMin = Math.ceil(firstQueryItems / partitionNames.length);
    const reads = partitionNames.map((partition) => this.#queryPages(space, partition, { after, itemsMin }));
    const firsts = (await Promise.all(reads.map((read) => read(undefined)))) as Page[];
    const partitions = firsts.map((first, index) => readRun(first, reads[index] as ReadPage));
    const isEmpty = firsts.every(({ items, next }) => items.length === 0 && next === undefined);
    return { items: merge(partitions), isEmpty };
  }

  #queryPages(
    space: Space,
    partition: string,
    { after, itemsMin }: { after: string | undefined; itemsMin: number },
  ): ReadPage {
    const names = namesIn(space);
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
        ExclusiveStartKey: from,
      });
      limit = Math.min(2 * limit, queryItemsMax);
      const output = await orMissing(space, this.#calls.read(command));
      return {
        items: (output?.Items ?? []).map((item) => readItem(item, names)),
        next: output?.LastEvaluatedKey,
      };
    };
  }
}

interface Range {
  readonly after: string | undefined;
  readonly limit: number | undefined;
  readonly prefix: string | undefined;
}

function prefixFilter(prefix: string) {
  return {
    FilterExpression: 'begins_with(id, :prefix)',
    ExpressionAttributeValues: { ':prefix': { S: prefix } },
  };
}

async function* writeChunks(pages: Run): AsyncGenerator<Buffer> {
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
