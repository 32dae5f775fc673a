import { pagesKeptMax, rowsMax } from '../limits.ts';

interface Identified {
  readonly id: string;
}

/** A list of the service, in the order of its ids. */
export interface KeysetSource<Row extends Identified> {
  /** A page of the rows after an id, or the first page; empty at the end. */
  after(id: string | undefined, signal: AbortSignal): Promise<readonly Row[]>;
  /** One row; undefined if it does not exist. */
  find(id: string, signal: AbortSignal): Promise<Row | undefined>;
}

interface Page<Row> {
  /** The id before the page's first row; undefined on the first page. */
  readonly after: string | undefined;
  first: number;
  length: number;
  /**
   * The id of the page's last row when the page was first read. The page contains all rows between `after` and this id,
   * even if their number changes.
   */
  readonly last: string;
  /** Undefined while the page is not kept. */
  rows: readonly Row[] | undefined;
  /** The request that reads the rows again. */
  reading: Promise<void> | undefined;
}

/**
 * The rows of a list, as far as the reader has scrolled. Pages are read one after another, each from the last id of the
 * previous page. Only pages near the visible rows keep their rows. The others remember where they begin and end, and
 * are read again when they are needed. If rows were created or deleted in a page meanwhile, the rows below it move.
 */
export class KeysetPages<Row extends Identified> {
  readonly #source: KeysetSource<Row>;
  readonly #from: string | undefined;
  readonly #pages: Page<Row>[] = [];
  readonly #changed: () => void;
  readonly #aborted = new AbortController();
  #isReading = false;
  #isComplete = false;
  /** The highest number of rows that was needed so far. */
  #wanted = 0;
  error: unknown;

  /**
   * @param from where the list begins: at this id, or at the next one that exists
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

  /** A row; undefined while it is read again, and after an error until `retry`. */
  at(index: number): Row | undefined {
    const page = this.#pageOf(index);
    if (page === undefined) return undefined;
    if (page.rows === undefined && this.error === undefined) void this.#read(page);
    return page.rows?.[index - page.first];
  }

  /** Reads further pages until so many rows are loaded, or all of them. */
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

  /** The known rows from `first` to `last`, both included. Pages that are not kept are read again. */
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

  /** Continues after an error. */
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

  /**
   * Drops the rows of the page that is furthest from the given one. The first page stays, because there is no id before
   * it to read it again from.
   */
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

/** Compares in the order of the service. It compares the bytes of UTF-8, which is the order of the code points. */
function comesAfter(one: string, other: string): boolean {
  const [ones, others] = [[...one], [...other]];
  const at = ones.findIndex((character, index) => character !== others[index]);
  if (at < 0) return false;
  return (ones[at]?.codePointAt(0) ?? 0) > (others[at]?.codePointAt(0) ?? -1);
}
