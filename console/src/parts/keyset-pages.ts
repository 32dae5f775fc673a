import { pagesKeptMax, rowsMax } from '../limits.ts';

interface Identified {
  readonly id: string;
}

/** A list of the interface, in the order of its ids. */
export interface KeysetSource<Row extends Identified> {
  /** A page of the rows after an id, or the first page; empty at the end. */
  after(id: string | undefined, signal: AbortSignal): Promise<readonly Row[]>;
  /** One row; undefined if it does not exist. */
  find(id: string, signal: AbortSignal): Promise<Row | undefined>;
}

interface Page<Row> {
  /** The id before its first row; undefined on the first page. */
  readonly after: string | undefined;
  first: number;
  length: number;
  /** The id of its last row when it was read first. The page has what is between `after` and this, however many there are. */
  readonly last: string;
  /** Undefined while the page is not kept. */
  rows: readonly Row[] | undefined;
  /** The reading of a page that was not kept. */
  reading: Promise<void> | undefined;
}

/**
 * The rows of a list as far as they have been scrolled to. Pages are read one after another, each from the last id of the one
 * before. Only those near the reader keep their rows; the others remember where they begin and end, and are read again.
 * What others have created or deleted there meanwhile moves the rows below.
 */
export class KeysetPages<Row extends Identified> {
  readonly #source: KeysetSource<Row>;
  readonly #from: string | undefined;
  readonly #pages: Page<Row>[] = [];
  readonly #changed: () => void;
  readonly #aborted = new AbortController();
  #isReading = false;
  #isComplete = false;
  /** The most rows that were needed. */
  #wanted = 0;
  error: unknown;

  /**
   * @param from the first id, or the one that would follow it
   * @param changed called when there are more rows, or an error
   */
  constructor(source: KeysetSource<Row>, from: string | undefined, changed: () => void) {
    this.#source = source;
    this.#from = from;
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

  /** A row; undefined while it is read again, which an error ends until `retry`. */
  at(index: number): Row | undefined {
    const page = this.#pageOf(index);
    if (page === undefined) return undefined;
    if (page.rows === undefined && this.error === undefined) void this.#read(page);
    return page.rows?.[index - page.first];
  }

  /** Reads on until so many rows are there, or all of them. */
  async need(rows: number): Promise<void> {
    this.#wanted = Math.max(this.#wanted, rows);
    if (this.#isReading || this.error !== undefined) return;
    this.#isReading = true;
    try {
      while (this.count < this.#wanted && !this.#isComplete && !this.isFull) {
        await this.#readNext();
        this.#changed();
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#isReading = false;
    }
  }

  /** Rows that are known, both ends included; pages that are not kept are read again. */
  async between(first: number, last: number): Promise<readonly Row[]> {
    const found: Row[] = [];
    for (let index = Math.max(0, first); index <= last; ) {
      const page = this.#pageOf(index);
      if (page === undefined) break;
      if (page.rows === undefined) await this.#read(page);
      found.push(...(page.rows ?? []).slice(index - page.first, last + 1 - page.first));
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
    const after = isFirst ? this.#from : this.#pages.at(-1)?.last;
    const rows = [...(await this.#source.after(after, this.#aborted.signal))];
    if (isFirst && this.#from !== undefined) {
      const start = await this.#source.find(this.#from, this.#aborted.signal);
      if (start !== undefined) rows.unshift(start);
    }
    const last = rows.at(-1);
    if (last === undefined) {
      this.#isComplete = true;
      return;
    }
    this.#pages.push({
      after: isFirst ? undefined : after,
      first: this.count,
      length: rows.length,
      last: last.id,
      rows,
      reading: undefined,
    });
    this.#forget(this.#pages.length - 1);
  }

  /** Reads the rows of a known page again, as they are now. */
  #read(page: Page<Row>): Promise<void> {
    page.reading ??= this.#rowsUpTo(page)
      .then(
        (rows) => {
          page.rows = rows;
          this.#resize(page, rows.length);
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

  async #rowsUpTo({ after, last }: Page<Row>): Promise<readonly Row[]> {
    const found: Row[] = [];
    for (let from = after; ; ) {
      const rows = await this.#source.after(from, this.#aborted.signal);
      const end = rows.findIndex(({ id }) => comesAfter(id, last));
      found.push(...(end < 0 ? rows : rows.slice(0, end)));
      from = rows.at(-1)?.id;
      if (end >= 0 || from === undefined || from === last) return found;
    }
  }

  #resize(page: Page<Row>, length: number): void {
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

  /** Drops the rows of the pages that are furthest from one; the first one, which has no id before it, is kept. */
  #forget(near: number): void {
    const kept = this.#pages
      .map((_, index) => index)
      .filter((index) => this.#pages[index]?.rows !== undefined);
    if (kept.length <= pagesKeptMax) return;
    const furthest = kept
      .filter((index) => index > 0)
      .toSorted((one, other) => Math.abs(other - near) - Math.abs(one - near))[0];
    const page = furthest === undefined ? undefined : this.#pages[furthest];
    if (page !== undefined) page.rows = undefined;
  }

  #pageOf(index: number): Page<Row> | undefined {
    let [low, high] = [0, this.#pages.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const page = this.#pages[middle] as Page<Row>;
      if (index < page.first) high = middle - 1;
      else if (index >= page.first + page.length) low = middle + 1;
      else return page;
    }
    return undefined;
  }
}

/** In the order of the service, which compares the bytes of UTF-8: that is the order of the code points. */
function comesAfter(one: string, other: string): boolean {
  const [ones, others] = [[...one], [...other]];
  const at = ones.findIndex((character, index) => character !== others[index]);
  if (at < 0) return false;
  return (ones[at]?.codePointAt(0) ?? 0) > (others[at]?.codePointAt(0) ?? -1);
}
