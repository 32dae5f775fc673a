import { isUtf8 } from 'node:buffer';
import { ServiceError } from '../../errors.ts';
import { checkItem, type TableItem } from '../../tables/table-item.ts';
import { WorkFailed } from '../problems.ts';

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
export function textOf(bytes: Buffer, line: number): string {
  if (!isUtf8(bytes)) throw rejectedLine(line, 'is not UTF-8');
  return bytes.toString();
}

/** Throws WorkFailed when the fields are no item of a table. */
export function rowOf(line: number, id: unknown, name: unknown, names: FieldNames): Row {
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
