import { isUtf8 } from 'node:buffer';
import { ServiceError } from '../../errors.ts';
import { checkItem, type TableItem } from '../../tables/table-item.ts';
import { UsageError, WorkFailed } from '../problems.ts';

/** Bytes of a line of an imported file: an item of 400 KB in which every byte is written as six characters. */
export const importedLineBytesMax = 4 * 1024 * 1024;

/** The names that the fields of an item have in a file. */
export type FieldNames = Readonly<Record<keyof TableItem, string>>;

export interface Row {
  /** Where it begins in the file, from 1. */
  readonly line: number;
  readonly item: TableItem;
}

/** The rows of a file, in groups as they are read. Throws WorkFailed after the last group before a rejected line. */
export type Rows = AsyncIterable<readonly Row[]>;

export function rejectedLine(line: number, reason: string): WorkFailed {
  return new WorkFailed('line_rejected', `line ${line}: ${reason}`);
}

/** Throws WorkFailed when the bytes are not UTF-8: decoding would replace them. */
export function decodedUtf8(bytes: Buffer, line: number): string {
  if (!isUtf8(bytes)) throw rejectedLine(line, 'is not UTF-8');
  return bytes.toString();
}

/** Throws WorkFailed when the fields are no item of a table. */
export function checkedRow(line: number, id: unknown, name: unknown, names: FieldNames): Row {
  if (typeof id !== 'string') throw rejectedLine(line, `has no string ${names.id}`);
  if (typeof name !== 'string') throw rejectedLine(line, `has no string ${names.name}`);
  const item = { id, name };
  try {
    checkItem(item);
  } catch (error) {
    throw error instanceof ServiceError ? rejectedLine(line, error.message) : error;
  }
  return { line, item };
}

export type Format = 'csv' | 'jsonl';

export interface FileFormat {
  readonly format: Format;
  readonly isCompressed: boolean;
}

/** Reads the format from the name of a file; `-` is not compressed. Throws UsageError. */
export function detectFormat(file: string, given: Format | undefined): FileFormat {
  const [, name = '', compressed] = /^(.*?)(\.gz)?$/s.exec(file) ?? [];
  const format =
    given ?? (name.endsWith('.csv') ? 'csv' : /\.(jsonl|ndjson)$/.test(name) ? 'jsonl' : undefined);
  if (format === undefined) throw new UsageError(`${file}: name its format: --format csv or --format jsonl`);
  return { format, isCompressed: compressed !== undefined };
}
