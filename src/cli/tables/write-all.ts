import type { ProgressBar } from '../output/progress-bar.ts';
import { WorkFailed } from '../problems.ts';
import { BatchQueue } from './batch-queue.ts';
import { batchesOf } from './batches.ts';
import type { Row, Rows } from './row.ts';
import { type Target, writeRows } from './write-rows.ts';

export interface Written {
  readonly written: number;
  readonly skipped: number;
}

export interface WriteAllOptions {
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
    for await (const batch of batchesOf(rows)) await queue.add(batch);
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
