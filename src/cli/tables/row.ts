import { isUtf8 } from 'node:buffer';
import type { TableItem } from '../../tables/tables.ts';
import { WorkFailed } from '../problems.ts';

/** The names that the fields of an item have in a file. */
export type FieldNames = Readonly<Record<keyof TableItem, string>>;

export interface Row {
  /** Where it begins in the file, from 1. */
  readonly line: number;
  readonly item: TableItem;
}

export function rejectedLine(line: number, reason: string): WorkFailed {
  return new WorkFailed('line_rejected', `line ${line}: ${reason}`);
}

/** Throws WorkFailed when the bytes are not UTF-8: decoding would replace them. */
export function textOf(bytes: Buffer, line: number): string {
  if (!isUtf8(bytes)) throw rejectedLine(line, 'is not UTF-8');
  return bytes.toString();
}

/** Throws WorkFailed when a field is not a string. */
export function itemOf(field: (name: string) => unknown, names: FieldNames, line: number): TableItem {
  const text = (name: string): string => {
    const value = field(name);
    if (typeof value !== 'string') throw rejectedLine(line, `has no string ${name}`);
    return value;
  };
  return { id: text(names.id), name: text(names.name) };
}
