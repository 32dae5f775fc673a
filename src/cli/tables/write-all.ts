import { commitWritesMax } from '../../storage/limits.ts';
import type { TableItem } from '../../tables/tables.ts';
import type { ProgressBar } from '../output/progress-bar.ts';
import { WorkFailed } from '../problems.ts';
import type { Row, Rows } from './item-file.ts';
import { type Target, writeRows } from './write-rows.ts';

/** Bytes of the items of one batch: a service accepts bodies of 1 MiB. */
const importedBatchBytesMax = 1_000_000;
/** Bytes of all batches that are being written: large items must not fill the memory. */
const importedBytesAtOnceMax = 8 * 1024 * 1024;

interface Written {
  readonly written: number;
  readonly skipped: number;
}

interface WriteAllOptions {
  readonly bar: ProgressBar;
  /** The number of all rows, as far as it can be estimated when so many are done. */
  readonly total: (done: number) => number | undefined;
  /** Called with the rows that were skipped. */
  readonly onSkipped?: (rows: readonly Row[]) => void;
}

/** The first failure of rows that are written, and what was written before. */
export class RowsNotWritten extends Error {
  readonly done: Written;

  constructor(cause: unknown, done: Written) {
    super('not all rows are written', { cause });
    this.done = done;
  }

  /** `150 items were written, 3 skipped` */
  get summary(): string {
    const { written, skipped } = this.done;
    return `${written} items were written${skipped > 0 ? `, ${skipped} skipped` : ''}`;
  }

  /** The error to report, unless it has a better name. */
  get reported(): unknown {
    const { cause } = this;
    return cause instanceof WorkFailed
      ? new WorkFailed(cause.code, `${cause.message} (${this.summary})`)
      : cause;
  }
}

/** Writes rows in commits of at most 100, each whole or not at all. Throws RowsNotWritten with the first line at fault. */
export async function writeAll(
  target: Target,
  rows: Rows,
  { bar, total, onSkipped }: WriteAllOptions,
): Promise<Written> {
  const counts = { written: 0, skipped: 0 };
  const queue = new BatchQueue(target.tables.batchesAtOnce, async (batch) => {
    const skipped = await writeRows(target, batch.rows);
    counts.skipped += skipped.length;
    counts.written += batch.rows.length - skipped.length;
    onSkipped?.(skipped);
    const done = counts.written + counts.skipped;
    bar.show(done, total(done));
  });
  try {
    for await (const batch of splitIntoBatches(rows)) await queue.add(batch);
    await queue.end();
    return counts;
  } catch (error) {
    // An earlier line may be at fault in a batch that is being written.
    const first = await queue.end().then(
      () => error,
      (earlier: unknown) => earlier,
    );
    throw new RowsNotWritten(first, counts);
  } finally {
    bar.clear();
  }
}

/** Rows that are written together. No two of them have the same id. */
export interface RowBatch {
  readonly rows: readonly Row[];
  readonly ids: ReadonlySet<string>;
  /** Of the items as JSON, or more. */
  readonly bytes: number;
}

/** The rows in batches that fit into one commit, and into the body of one request. */
async function* splitIntoBatches(groups: Rows): AsyncGenerator<RowBatch> {
  let rows: Row[] = [];
  let ids = new Set<string>();
  let bytes = 0;
  let failure: unknown;
  try {
    for await (const group of groups) {
      for (const row of group) {
        const rowBytes = estimatedBytes(row.item);
        const isFull = rows.length === commitWritesMax || bytes + rowBytes > importedBatchBytesMax;
        if (rows.length > 0 && (isFull || ids.has(row.item.id))) {
          yield { rows, ids, bytes };
          rows = [];
          ids = new Set();
          bytes = 0;
        }
        rows.push(row);
        ids.add(row.item.id);
        bytes += rowBytes;
      }
    }
  } catch (error) {
    failure = error;
  }
  // The rows before a rejected line are written, as its message promises.
  if (rows.length > 0) yield { rows, ids, bytes };
  if (failure !== undefined) throw failure;
}

/** `{"create":{"id":"","name":""}},` */
const frameBytes = 32;
/** `\u0000` */
const escapedBytesMax = 6;
/** Measuring a longer item costs little beside sending it. */
const estimatedCharactersMax = 1_000;

function estimatedBytes(item: TableItem): number {
  const characters = item.id.length + item.name.length;
  if (characters <= estimatedCharactersMax) return frameBytes + characters * escapedBytesMax;
  return frameBytes + Buffer.byteLength(JSON.stringify(item));
}

/** Writes several batches at once. Two that share an id are written one after the other, in the order of the file. */
export class BatchQueue {
  readonly #write: (batch: RowBatch) => Promise<void>;
  readonly #atOnceMax: number;
  readonly #running = new Set<Promise<void>>();
  /** Of all batches that are being written. */
  readonly #ids = new Set<string>();
  #bytes = 0;
  /** The first line whose batch failed, and why. */
  #failure: { readonly line: number; readonly error: unknown } | undefined;

  constructor(atOnceMax: number, write: (batch: RowBatch) => Promise<void>) {
    this.#atOnceMax = atOnceMax;
    this.#write = write;
  }

  /** Resolves when there is room for the next batch. Throws the error of an earlier batch, after the others have ended. */
  async add(batch: RowBatch): Promise<void> {
    while (!this.#hasRoomFor(batch)) await Promise.race(this.#running);
    if (this.#failure !== undefined) await this.end();
    this.#bytes += batch.bytes;
    for (const id of batch.ids) this.#ids.add(id);
    const run = this.#run(batch).finally(() => {
      this.#running.delete(run);
      this.#bytes -= batch.bytes;
      for (const id of batch.ids) this.#ids.delete(id);
    });
    this.#running.add(run);
  }

  /** Resolves when all batches are written. Throws the error of the first line that failed, after the others have ended. */
  async end(): Promise<void> {
    await Promise.all(this.#running);
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #hasRoomFor({ ids, bytes }: RowBatch): boolean {
    if (this.#running.size === 0) return true;
    if (this.#running.size >= this.#atOnceMax || this.#bytes + bytes > importedBytesAtOnceMax) return false;
    return ids.isDisjointFrom(this.#ids);
  }

  async #run(batch: RowBatch): Promise<void> {
    try {
      await this.#write(batch);
    } catch (error) {
      const { line = 0 } = batch.rows[0] ?? {};
      if (this.#failure === undefined || line < this.#failure.line) this.#failure = { line, error };
    }
  }
}
