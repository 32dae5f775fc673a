import type { Item } from '../item-text.ts';

/** Pages of items. */
export type Run = AsyncGenerator<readonly Item[]>;

/** Merges runs that are each sorted by the bytes of their ids. */
export async function* merged(runs: readonly Run[]): Run {
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

/** The next item of a run. */
class Head {
  readonly #run: Run;
  #page: readonly Item[] = [];
  #index = 0;
  #bytes: Buffer = Buffer.alloc(0);

  static async of(run: Run): Promise<Head> {
    const head = new Head(run);
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

  isBefore(other: Head | undefined): boolean {
    if (this.item === undefined) return false;
    return other?.item === undefined || this.#bytes.compare(other.#bytes) < 0;
  }
}
