import { QueryCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import {
  dynamoFirstPageItems,
  dynamoPageItemsMax,
  dynamoScanSegments,
  scanChunkBytes,
} from '../../limits.ts';
import type { Scan, ScanOptions, ServiceSpace, Space } from '../engine.ts';
import { type Item, itemText } from '../item-text.ts';
import type { Calls } from './calls.ts';
import { type Attributes, isService, itemOf, type Layout, namesOf, partitionsOf } from './layout.ts';
import { orMissing } from './spaces.ts';

/** A page as it came, and where the next one begins. */
interface Page {
  readonly items: readonly Item[];
  readonly next: Attributes | undefined;
}

type ReadPage = (from: Attributes | undefined) => Promise<Page | undefined>;

/**
 * Scans: consistent reads, page by page, each as of its own moment. No page is asked for before the one before it is
 * taken, but for one that is read ahead.
 */
export class Scans {
  readonly #calls: Calls;
  readonly #layout: Layout;
  /** Tables that had more than one page when they were last read. */
  readonly #large = new Set<Space>();

  constructor(calls: Calls, layout: Layout) {
    this.#calls = calls;
    this.#layout = layout;
  }

  async scan(space: Space, { after, limit }: ScanOptions): Promise<Scan | undefined> {
    const pages = isService(space)
      ? await this.#ordered(space, after)
      : await this.#table(space, after, limit);
    if (pages === undefined) return undefined;
    const isEmpty = isService(space) && after === undefined && pages.isEmpty;
    return isEmpty ? undefined : { chunks: chunksOf(limited(pages.items, limit)) };
  }

  /** A user's table, in the order of its hashes. */
  async #table(space: Space, after: string | undefined, limit: number | undefined) {
    const isWhole = after === undefined && limit === undefined;
    const isParallel = isWhole && this.#large.has(space);
    const segments = isParallel ? dynamoScanSegments : 1;
    const reads = Array.from({ length: segments }, (_, segment) =>
      this.#scanPages(space, { limit, segment, segments }),
    );
    const start = after === undefined ? undefined : { id: { S: after } };
    const firsts = await Promise.all(reads.map((read) => read(start)));
    if (firsts.includes(undefined)) return undefined;
    const pages = firsts as Page[];
    if (isWhole && pages.some(({ next }) => next !== undefined)) this.#large.add(space);
    else if (isWhole) this.#large.delete(space);
    const items = inTurns(pages.map((first, index) => following(first, reads[index] as ReadPage)));
    return { items, isEmpty: false };
  }

  #scanPages(
    space: Space,
    { limit, segment, segments }: { limit: number | undefined; segment: number; segments: number },
  ): ReadPage {
    const names = namesOf(space);
    const table = this.#layout.placeOf(space, '')?.table;
    return async (from) => {
      if (table === undefined) return undefined;
      const command = new ScanCommand({
        TableName: table,
        ConsistentRead: true,
        ProjectionExpression: 'id, #value',
        ExpressionAttributeNames: { '#value': names.value },
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
        ...(limit === undefined ? {} : { Limit: limit }),
        ...(segments === 1 ? {} : { Segment: segment, TotalSegments: segments }),
      });
      const answer = await orMissing(
        space,
        this.#calls.read((client, options) => client.send(command, options)),
      );
      if (answer === undefined) return undefined;
      return {
        items: (answer.Items ?? []).map((item) => itemOf(item, names)),
        next: answer.LastEvaluatedKey,
      };
    };
  }

  /** A space of the service's own: its partitions, each in order, merged. */
  async #ordered(space: `service:${ServiceSpace}`, after: string | undefined) {
    const reads = partitionsOf(space).map((partition) => this.#queryPages(space, partition, after));
    const firsts = (await Promise.all(reads.map((read) => read(undefined)))) as Page[];
    const partitions = firsts.map((first, index) => following(first, reads[index] as ReadPage));
    return { items: merged(partitions), isEmpty: firsts.every(({ items }) => items.length === 0) };
  }

  #queryPages(space: Space, partition: string, after: string | undefined): ReadPage {
    const names = namesOf(space);
    let limit = dynamoFirstPageItems;
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
      const answer = await orMissing(
        space,
        this.#calls.read((client, options) => client.send(command, options)),
      );
      return {
        items: (answer?.Items ?? []).map((item) => itemOf(item, names)),
        next: answer?.LastEvaluatedKey,
      };
    };
  }
}

/** The pages of one run behind one another; the next one is read while a page is being taken. */
async function* following(first: Page, read: ReadPage): AsyncGenerator<readonly Item[]> {
  let page: Page | undefined = first;
  while (page !== undefined) {
    const next: Promise<Page | undefined> | undefined = page.next === undefined ? undefined : read(page.next);
    // Whoever leaves early does not hear of its failure.
    next?.catch(() => undefined);
    yield page.items;
    page = await next;
  }
}

/** Pages of several runs, whichever has one ready first. */
async function* inTurns(runs: readonly AsyncGenerator<readonly Item[]>[]): AsyncGenerator<readonly Item[]> {
  const pending = new Map(runs.map((run) => [run, pageOf(run)]));
  try {
    while (pending.size > 0) {
      const { run, result } = await Promise.race(pending.values());
      if (result.done) pending.delete(run);
      else {
        pending.set(run, pageOf(run));
        yield result.value;
      }
    }
  } finally {
    for (const run of runs) void run.return(undefined).catch(() => undefined);
  }
}

async function pageOf(run: AsyncGenerator<readonly Item[]>) {
  return { run, result: await run.next() };
}

/** Runs that are each in the order of their ids' bytes, as one that is. */
async function* merged(runs: readonly AsyncGenerator<readonly Item[]>[]): AsyncGenerator<readonly Item[]> {
  const heads = await Promise.all(runs.map((run) => Head.of(run)));
  for (;;) {
    const least = heads.reduce<Head | undefined>(
      (best, head) => (head.isBefore(best) ? head : best),
      undefined,
    );
    if (least?.item === undefined) return;
    yield [least.item];
    await least.advance();
  }
}

/** The first item of a run that is not taken yet. */
class Head {
  readonly #run: AsyncGenerator<readonly Item[]>;
  #page: readonly Item[] = [];
  #index = 0;
  #bytes: Buffer = Buffer.alloc(0);

  static async of(run: AsyncGenerator<readonly Item[]>): Promise<Head> {
    const head = new Head(run);
    await head.advance();
    return head;
  }

  private constructor(run: AsyncGenerator<readonly Item[]>) {
    this.#run = run;
  }

  get item(): Item | undefined {
    return this.#page[this.#index];
  }

  async advance(): Promise<void> {
    this.#index++;
    while (this.#index >= this.#page.length) {
      const { done, value } = await this.#run.next();
      this.#page = done ? [] : value;
      this.#index = 0;
      if (done) return;
    }
    this.#bytes = Buffer.from(this.item?.id ?? '');
  }

  isBefore(other: Head | undefined): boolean {
    if (this.item === undefined) return false;
    return other?.item === undefined || this.#bytes.compare(other.#bytes) < 0;
  }
}

async function* limited(
  pages: AsyncGenerator<readonly Item[]>,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly Item[]> {
  let left = limit;
  for await (const items of pages) {
    yield items.slice(0, left);
    left -= items.length;
    if (left <= 0) return;
  }
}

async function* chunksOf(pages: AsyncGenerator<readonly Item[]>): AsyncGenerator<Buffer> {
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
