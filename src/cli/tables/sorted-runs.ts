import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkFailed } from '../problems.ts';
import type { Row } from './row.ts';

/** Of rows that are read and written at once. A merge has as much of every run in the memory. */
const pieceCharacters = 32 * 1024;

/** By id, in an order of UTF-16: neighbours in it are mostly neighbours in the table. Then by line. */
export function compareRows(one: Row, other: Row): number {
  if (one.item.id === other.item.id) return one.line - other.line;
  return one.item.id < other.item.id ? -1 : 1;
}

/** Sorted rows in one temporary file, which the system removes with the process, however it ends. Throws WorkFailed. */
export class SortedRuns {
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
export function* mergedRows(runs: readonly IterableIterator<Row>[]): Generator<Row> {
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
