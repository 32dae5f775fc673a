import { sortedBytesMax, sortedRowBytes } from '../limits.ts';
import type { Row, Rows } from './row.ts';
import { compareRows, mergedRows, SortedRuns } from './sorted-runs.ts';

/** Rows that are written at once. */
const groupRows = 1_000;

/**
 * The rows in the order of their ids, and those with the same id in the order of the file: a store writes neighbouring ids
 * many times as fast. Rows that are in order already are passed on at once. From the first one that is not, all others are
 * sorted in the memory, and in a temporary file if they are many. Throws what the rows throw, after the last row.
 *
 * @param onSorted called with the number of rows that wait for the end of the file
 */
export async function* sortedRows(rows: Rows, onSorted: (count: number) => void): Rows {
  const sorting = new Sorting();
  let last: Row | undefined;
  let failure: unknown;
  try {
    for await (const group of rows) {
      const start = sorting.isEmpty ? firstOutOfOrder(group, last) : 0;
      if (start > 0) yield group.slice(0, start);
      last = group[start - 1] ?? last;
      sorting.add(group, start);
      if (!sorting.isEmpty) onSorted(sorting.count);
    }
  } catch (error) {
    failure = error;
  }
  try {
    yield* sorting.rows();
  } finally {
    sorting.close();
  }
  if (failure !== undefined) throw failure;
}

/** The index of the first row that sorts before the one in front of it; the length of the group if there is none. */
function firstOutOfOrder(group: readonly Row[], before: Row | undefined): number {
  let last = before;
  for (const [index, row] of group.entries()) {
    if (last !== undefined && compareRows(last, row) > 0) return index;
    last = row;
  }
  return group.length;
}

class Sorting {
  count = 0;
  #rows: Row[] = [];
  #bytes = 0;
  #runs: SortedRuns | undefined;

  get isEmpty(): boolean {
    return this.count === 0;
  }

  add(group: readonly Row[], start: number): void {
    for (let index = start; index < group.length; index++) {
      const row = group[index] as Row;
      this.#rows.push(row);
      this.#bytes += sortedRowBytes + row.item.id.length + row.item.name.length;
      if (this.#bytes >= sortedBytesMax) this.#store();
    }
    this.count += group.length - start;
  }

  *rows(): Generator<readonly Row[]> {
    this.#rows.sort(compareRows);
    const runs = this.#runs === undefined ? [] : this.#runs.each();
    let group: Row[] = [];
    for (const row of mergedRows([...runs, this.#rows.values()])) {
      if (group.push(row) < groupRows) continue;
      yield group;
      group = [];
    }
    if (group.length > 0) yield group;
  }

  close(): void {
    this.#runs?.close();
  }

  #store(): void {
    this.#runs ??= new SortedRuns();
    this.#runs.add(this.#rows.sort(compareRows));
    this.#rows = [];
    this.#bytes = 0;
  }
}
