import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkFailed } from '../problems.ts';
import type { Row, Rows } from './item-file.ts';

/** Bytes of rows that an import sorts in memory; more rows go to a temporary file, in pieces of this size. */
const sortedBytesMax = 24 * 1024 * 1024;
/** The memory of a row beside its strings. */
const sortedRowBytes = 150;

/** Rows that are written at once. */
const groupRows = 1_000;

/**
 * The rows in the order of their ids, and those with the same id in the order of the file: a store writes neighbouring ids
 * many times faster. Rows that are already in order pass at once. From the first row out of order on, all rows are sorted in
 * memory, and in a temporary file if they are many. Throws what the rows throw, after the last row.
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

/** Characters of the rows that are read and written at once. A merge holds this many of every run in memory. */
const pieceCharacters = 32 * 1024;

/** Compares ids by UTF-16 code units, in which neighbours are mostly neighbours in the table too; then lines. */
function compareRows(one: Row, other: Row): number {
  if (one.item.id === other.item.id) return one.line - other.line;
  return one.item.id < other.item.id ? -1 : 1;
}

/** Sorted rows in one temporary file, which the system removes with the process, however it ends. Throws WorkFailed. */
class SortedRuns {
  readonly #file: number;
  readonly #runs: (readonly Piece[])[] = [];
  #end = 0;

  constructor() {
    this.#file = onDisk(() => {
      const folder = mkdtempSync(join(tmpdir(), 'counterfoil-import-'));
      try {
        return openSync(join(folder, 'rows'), 'wx+', 0o600);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  }

  add(rows: readonly Row[]): void {
    const pieces: Piece[] = [];
    let fields: (number | string)[] = [];
    let characters = 0;
    for (const { line, item } of rows) {
      fields.push(line, item.id, item.name);
      characters += item.id.length + item.name.length;
      if (characters < pieceCharacters) continue;
      pieces.push(this.#append(fields));
      fields = [];
      characters = 0;
    }
    pieces.push(this.#append(fields));
    this.#runs.push(pieces);
  }

  each(): IterableIterator<Row>[] {
    return this.#runs.map((pieces) => this.#rows(pieces));
  }

  close(): void {
    closeSync(this.#file);
  }

  /** @param fields line, id and name of each row: one array is written and parsed faster than one for each row */
  #append(fields: readonly (number | string)[]): Piece {
    const bytes = Buffer.from(JSON.stringify(fields));
    const start = this.#end;
    while (this.#end < start + bytes.length) {
      const done = this.#end - start;
      this.#end += onDisk(() => writeSync(this.#file, bytes, done, bytes.length - done, this.#end));
    }
    return { start, bytes: bytes.length };
  }

  *#rows(pieces: readonly Piece[]): Generator<Row> {
    for (const piece of pieces) {
      const fields = JSON.parse(this.#read(piece));
      for (let index = 0; index < fields.length; index += 3)
        yield { line: fields[index], item: { id: fields[index + 1], name: fields[index + 2] } };
    }
  }

  #read({ start, bytes }: Piece): string {
    const piece = Buffer.allocUnsafe(bytes);
    for (let done = 0; done < bytes; )
      done += onDisk(() => readSync(this.#file, piece, done, bytes - done, start + done));
    return piece.toString();
  }
}

/** Some rows of a run, where they are in the file. */
interface Piece {
  readonly start: number;
  readonly bytes: number;
}

/** Merges sorted rows. */
function* mergedRows(runs: readonly IterableIterator<Row>[]): Generator<Row> {
  const heads: Head[] = [];
  for (const rows of runs) {
    const { value, done } = rows.next();
    if (!done) heads.push({ row: value, rows });
  }
  // A heap: no head sorts before the one at half its index.
  for (let index = (heads.length >> 1) - 1; index >= 0; index--) sink(heads, index);
  for (let head = heads[0]; head !== undefined; head = heads[0]) {
    yield head.row;
    const { value, done } = head.rows.next();
    if (!done) head.row = value;
    else {
      const last = heads.pop() as Head;
      if (last !== head) heads[0] = last;
    }
    sink(heads, 0);
  }
}

interface Head {
  row: Row;
  readonly rows: IterableIterator<Row>;
}

/** Moves a head down until the two below it sort after it. */
function sink(heads: Head[], from: number): void {
  const moved = heads[from];
  if (moved === undefined) return;
  let at = from;
  for (;;) {
    const left = heads[2 * at + 1];
    if (left === undefined) break;
    const right = heads[2 * at + 2];
    const isRight = right !== undefined && compareRows(right.row, left.row) < 0;
    const least = isRight ? right : left;
    if (compareRows(moved.row, least.row) <= 0) break;
    heads[at] = least;
    at = 2 * at + (isRight ? 2 : 1);
  }
  heads[at] = moved;
}

function onDisk<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new WorkFailed('file_not_written', `${tmpdir()}: the rows cannot be sorted there (${code})`);
  }
}
