import type { Item, Table } from '@counterfoil/client';
import { itemsPerPage, pagesKeptMax, rowsMax } from '../limits.ts';

/** Where the rows of a view begin. */
export interface Start {
  /** The first id, or the one that would follow it. */
  readonly from?: string | undefined;
  readonly prefix?: string | undefined;
}

interface Page {
  /** The id before its first item; undefined on the first page. */
  readonly after: string | undefined;
  first: number;
  length: number;
  /** The id of its last item when it was read first. The page has what is between `after` and this, however many there are. */
  readonly last: string;
  /** Undefined while the page is not kept. */
  items: readonly Item[] | undefined;
  /** The reading of a page that was not kept. */
  reading: Promise<void> | undefined;
}

/**
 * The items of a table as far as they have been scrolled to. Pages are read one after another, each from the last id of the one
 * before. Only those near the reader keep their items; the others remember where they begin and end, and are read again.
 * What others have created or deleted there meanwhile moves the rows below.
 */
export class ItemPages {
  readonly #table: Table;
  readonly #start: Start;
  readonly #pages: Page[] = [];
  readonly #changed: () => void;
  readonly #aborted = new AbortController();
  #isReading = false;
  #isComplete = false;
  /** The most rows that were needed. */
  #wanted = 0;
  error: unknown;

  /** @param changed called when there are more items, or an error */
  constructor(table: Table, start: Start, changed: () => void) {
    this.#table = table;
    this.#start = start;
    this.#changed = changed;
  }

  get count(): number {
    const last = this.#pages.at(-1);
    return last === undefined ? 0 : last.first + last.length;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  get isFull(): boolean {
    return this.count >= rowsMax;
  }

  /** The item of a row; undefined while it is read again, which an error ends until `retry`. */
  at(index: number): Item | undefined {
    const page = this.#pageOf(index);
    if (page === undefined) return undefined;
    if (page.items === undefined && this.error === undefined) void this.#read(page);
    return page.items?.[index - page.first];
  }

  /** Reads on until so many rows are there, or all of them. */
  async need(rows: number): Promise<void> {
    this.#wanted = Math.max(this.#wanted, rows);
    if (this.#isReading || this.error !== undefined) return;
    this.#isReading = true;
    try {
      while (this.count < rows && !this.#isComplete && !this.isFull) {
        await this.#readNext();
        this.#changed();
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#isReading = false;
    }
  }

  /** The items of rows that are known, both ends included; pages that are not kept are read again. */
  async between(first: number, last: number): Promise<readonly Item[]> {
    const found: Item[] = [];
    for (let index = Math.max(0, first); index <= last; ) {
      const page = this.#pageOf(index);
      if (page === undefined) break;
      if (page.items === undefined) await this.#read(page);
      found.push(...(page.items ?? []).slice(index - page.first, last + 1 - page.first));
      index = page.first + page.length;
    }
    return found;
  }

  /** Reads on after an error. */
  retry(): void {
    this.error = undefined;
    this.#changed();
    void this.need(this.#wanted);
  }

  stop(): void {
    this.#aborted.abort();
  }

  async #readNext(): Promise<void> {
    const isFirst = this.#pages.length === 0;
    const after = isFirst ? this.#start.from : this.#pages.at(-1)?.last;
    const items = await this.#itemsAfter(after, itemsPerPage);
    if (isFirst && this.#start.from !== undefined) {
      const { from, prefix } = this.#start;
      const start = await this.#table.get(from, { signal: this.#aborted.signal });
      if (start?.id.startsWith(prefix ?? '')) items.unshift({ id: start.id, name: start.name });
    }
    if (items.length === 0) {
      this.#isComplete = true;
      return;
    }
    const last = items.at(-1) as Item;
    this.#pages.push({
      after: isFirst ? undefined : after,
      first: this.count,
      length: items.length,
      last: last.id,
      items,
      reading: undefined,
    });
    this.#forget(this.#pages.length - 1);
  }

  async #itemsAfter(after: string | undefined, limit: number): Promise<Item[]> {
    const { signal } = this.#aborted;
    const pages = this.#table.pages({ after, limit, prefix: this.#start.prefix, signal });
    const { value, done } = await pages.next();
    return done ? [] : [...value];
  }

  /** Reads the items of a known page again, as they are now. */
  #read(page: Page): Promise<void> {
    page.reading ??= this.#itemsUpTo(page)
      .then(
        (items) => {
          page.items = items;
          this.#resize(page, items.length);
          this.#forget(this.#pages.indexOf(page));
          this.#changed();
        },
        (error: unknown) => this.#failed(error),
      )
      .finally(() => {
        page.reading = undefined;
      });
    return page.reading;
  }

  async #itemsUpTo({ after, last }: Page): Promise<readonly Item[]> {
    const found: Item[] = [];
    for (let from = after; ; ) {
      const items = await this.#itemsAfter(from, itemsPerPage);
      const end = items.findIndex(({ id }) => comesAfter(id, last));
      found.push(...(end < 0 ? items : items.slice(0, end)));
      from = items.at(-1)?.id;
      if (end >= 0 || from === undefined || from === last) return found;
    }
  }

  #resize(page: Page, length: number): void {
    const more = length - page.length;
    page.length = length;
    if (more === 0) return;
    for (const later of this.#pages.slice(this.#pages.indexOf(page) + 1)) later.first += more;
  }

  #failed(error: unknown): void {
    if (this.#aborted.signal.aborted) return;
    this.error = error;
    this.#changed();
  }

  /** Drops the items of the pages that are furthest from one; the first one, which has no id before it, is kept. */
  #forget(near: number): void {
    const kept = this.#pages
      .map((_, index) => index)
      .filter((index) => this.#pages[index]?.items !== undefined);
    if (kept.length <= pagesKeptMax) return;
    const furthest = kept
      .filter((index) => index > 0)
      .toSorted((one, other) => Math.abs(other - near) - Math.abs(one - near))[0];
    const page = furthest === undefined ? undefined : this.#pages[furthest];
    if (page !== undefined) page.items = undefined;
  }

  #pageOf(index: number): Page | undefined {
    let [low, high] = [0, this.#pages.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const page = this.#pages[middle] as Page;
      if (index < page.first) high = middle - 1;
      else if (index >= page.first + page.length) low = middle + 1;
      else return page;
    }
    return undefined;
  }
}

/** In the order of a table, which compares the bytes of UTF-8: that is the order of the code points. */
function comesAfter(one: string, other: string): boolean {
  const [ones, others] = [[...one], [...other]];
  const at = ones.findIndex((character, index) => character !== others[index]);
  if (at < 0) return false;
  return (ones[at]?.codePointAt(0) ?? 0) > (others[at]?.codePointAt(0) ?? -1);
}
