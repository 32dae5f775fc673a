import { reportProblems, WorkFailed } from '../problems.ts';
import { type Column, Table } from './table.ts';
import { printable } from './terminal-text.ts';

/** Rows that a table measures before it prints the first: more would delay it, fewer would misalign usual listings. */
const tableRowsMeasuredMax = 500;

/** Standard output has only results; progress and hints go to standard error. */

interface Listing<Row> {
  /** Whether to print one JSON object a line instead of a table. */
  readonly json: boolean | undefined;
  readonly columns: readonly Column<Row>[];
  /** What `--json` prints of a row. */
  readonly toJson: (row: Row) => object;
  /** The hint on standard error when there is no row: `No payments.` */
  readonly none: string;
}

let isReaderGone = false;

/** Prints rows as they arrive: as a table, cut to the width of a terminal and uncut in a pipe, or as one JSON object a line. */
export async function printListing<Row>(
  rows: AsyncIterable<Row> | Iterable<Row>,
  { json, columns, toJson, none }: Listing<Row>,
): Promise<void> {
  let table: Table<Row> | undefined;
  const measured: Row[] = [];
  const begin = () => {
    table = new Table(columns, measured, process.stdout.isTTY ? process.stdout.columns : Infinity);
    print(table.header() + measured.map((row) => table?.line(row)).join(''));
  };
  let isEmpty = true;
  for await (const row of rows) {
    isEmpty = false;
    if (json) print(jsonLine(toJson(row)));
    else if (table !== undefined) print(table.line(row));
    else if (measured.push(row) === tableRowsMeasuredMax) begin();
    // `… | head` closes the pipe and needs no more output.
    if (isReaderGone) return;
  }
  if (json) return;
  if (isEmpty) hint(none);
  else if (table === undefined) begin();
}

/** Prints one result: a JSON object on one line, or sentences for people. */
export function printResult(
  json: boolean | undefined,
  result: object,
  lines: string | readonly string[],
): void {
  if (json) print(jsonLine(result));
  else for (const line of [lines].flat()) print(`${printable(line)}\n`);
}

/** Prints the fields of one thing, a line each, names and values in two columns. */
export function printFields(
  json: boolean | undefined,
  result: object,
  fields: readonly (readonly [name: string, value: string | undefined])[],
): void {
  const width = Math.max(...fields.map(([name]) => name.length)) + 2;
  printResult(
    json,
    result,
    fields.filter(([, value]) => value !== undefined).map(([name, value]) => name.padEnd(width) + value),
  );
}

/** One line of JSON that is safe to show on a terminal. */
export function jsonLine(value: object): string {
  return `${printable(JSON.stringify(value))}\n`;
}

/** Writes a remark for people to standard error, so that it never mixes with results. */
export function hint(text: string): void {
  process.stderr.write(`${printable(text)}\n`);
}

function print(text: string): void {
  process.stdout.write(text);
}

/**
 * Keeps a command from failing when the reader of its output ends early, as `head` does, and reports output that cannot be
 * written, for example to a full disk. Call it first.
 */
export function watchOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    isReaderGone = true;
    if (error.code === 'EPIPE') return;
    const problem = `standard output cannot be written (${error.code})`;
    reportProblems(new WorkFailed('file_not_written', problem), process.argv.includes('--json'));
  });
}
