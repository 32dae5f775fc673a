import { ServiceError } from '../../errors.ts';
import type { Item } from '../item-text.ts';
import type { Attributes } from './errors.ts';

/** A page as it was read, and the key at which the next one begins. */
export interface Page {
  readonly items: readonly Item[];
  readonly next: Attributes | undefined;
}

export type ReadPage = (from: Attributes | undefined) => Promise<Page | undefined>;

/** Pages of items. */
export type Run = AsyncGenerator<readonly Item[]>;

/** Reads the pages of one run, in sequence. Throws `unavailable` if the table disappears meanwhile: the scan is incomplete. */
export async function* readRun(first: Page, read: ReadPage): Run {
  let page: Page | undefined = first;
  for (;;) {
    yield page.items;
    if (page.next === undefined) return;
    page = await read(page.next);
    if (page === undefined)
      throw new ServiceError('unavailable', { detail: 'the table disappeared during the scan' });
  }
}

/** Returns the pages of several runs as they become ready. Each run reads its next page while the consumer has its current one. */
export async function* interleave(runs: readonly Run[]): Run {
  const pending = new Map(runs.map((run) => [run, readNext(run)]));
  try {
    while (pending.size > 0) {
      const { run, result } = await Promise.race(pending.values());
      if (result.done) pending.delete(run);
      else {
        const next = readNext(run);
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

async function readNext(run: Run) {
  return { run, result: await run.next() };
}

export async function* limitItems(pages: Run, limit = Number.POSITIVE_INFINITY): Run {
  let left = limit;
  for await (const items of pages) {
    yield items.slice(0, left);
    left -= items.length;
    if (left <= 0) return;
  }
}

/** Merges runs that are each sorted by the bytes of their ids. */
export async function* merge(runs: readonly Run[]): Run {
  const heads = await Promise.all(runs.map((run) => RunHead.open(run)));
  for (;;) {
    const least = heads.reduce<RunHead | undefined>(
      (best, head) => (head.isBefore(best) ? head : best),
      undefined,
    );
    if (least?.item === undefined) return;
    yield [least.item];
    await least.advance();
  }
}

/** The next item of a run. */
class RunHead {
  readonly #run: Run;
  #page: readonly Item[] = [];
  #index = 0;
  #bytes: Buffer = Buffer.alloc(0);

  static async open(run: Run): Promise<RunHead> {
    const head = new RunHead(run);
    await head.advance();
    return head;
  }

  private constructor(run: Run) {
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

  isBefore(other: RunHead | undefined): boolean {
    if (this.item === undefined) return false;
    return other?.item === undefined || this.#bytes.compare(other.#bytes) < 0;
  }
}
