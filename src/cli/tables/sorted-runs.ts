import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkFailed } from '../problems.ts';
import type { Row } from './row.ts';

/** Read and written at once. A merge has as much of every run in the memory, as bytes and as rows. */
const pieceBytes = 32 * 1024;

/** By id, in an order of UTF-16: neighbours in it are mostly neighbours in the table. Then by line. */
export function compareRows(one: Row, other: Row): number {
  if (one.item.id === other.item.id) return one.line - other.line;
  return one.item.id < other.item.id ? -1 : 1;
}

/** Sorted rows in one temporary file, which the system removes with the process, however it ends. Throws WorkFailed. */
export class SortedRuns {
  readonly #file: number;
  readonly #runs: { readonly start: number; readonly end: number }[] = [];
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
    const start = this.#end;
    let text = '';
    for (const { line, item } of rows) {
      text += `${JSON.stringify([line, item.id, item.name])}\n`;
      if (text.length >= pieceBytes) text = this.#append(text);
    }
    this.#append(text);
    this.#runs.push({ start, end: this.#end });
  }

  each(): IterableIterator<Row>[] {
    return this.#runs.map(({ start, end }) => this.#rows(start, end));
  }

  close(): void {
    closeSync(this.#file);
  }

  /** @returns the text that is left to write: none */
  #append(text: string): '' {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; )
      at += onDisk(() => writeSync(this.#file, bytes, at, bytes.length - at, this.#end + at));
    this.#end += bytes.length;
    return '';
  }

  *#rows(start: number, end: number): Generator<Row> {
    let rest: Buffer = Buffer.alloc(0);
    for (let at = start; at < end; ) {
      const piece = Buffer.allocUnsafe(Math.min(pieceBytes, end - at));
      at += onDisk(() => readSync(this.#file, piece, 0, piece.length, at));
      const bytes = Buffer.concat([rest, piece]);
      const last = bytes.lastIndexOf(0x0a);
      rest = bytes.subarray(last + 1);
      if (last < 0) continue;
      const rows = JSON.parse(`[${bytes.toString('utf8', 0, last).replaceAll('\n', ',')}]`);
      for (const [line, id, name] of rows as [number, string, string][]) yield { line, item: { id, name } };
    }
  }
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
