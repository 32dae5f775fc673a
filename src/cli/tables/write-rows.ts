import { ServiceError } from '../../errors.ts';
import { WorkFailed } from '../problems.ts';
import type { Row } from './item-file.ts';
import type { TableAccess } from './table-access.ts';
import { existingItems, lookUpEach } from './table-access.ts';

export type OnConflict = 'fail' | 'skip' | 'replace';

export interface Target {
  readonly tables: TableAccess;
  readonly table: string;
  readonly onConflict: OnConflict;
  /** How messages name a row: `line 5`. */
  readonly describeRow: (row: Row) => string;
}

/** Writes the rows of a batch in one commit. @returns those that were skipped. Throws WorkFailed with the line at fault. */
export async function writeRows(target: Target, rows: readonly Row[]): Promise<readonly Row[]> {
  if (target.onConflict !== 'skip') {
    await write(target, rows);
    return [];
  }
  let left = rows;
  // Another caller may create an item after the look-up; then the remaining rows are looked up again.
  while (left.length > 0) {
    try {
      await write(target, left);
      break;
    } catch (error) {
      if (!isConflict(error)) throw error;
      const missing = await missingRows(target, left, existingItems);
      // The table has at least one of them.
      left = missing.length < left.length ? missing : await missingRows(target, left, lookUpEach);
    }
  }
  const written = new Set(left);
  return rows.filter((row) => !written.has(row));
}

/** The error names the line; its cause is the error of the table. */
async function write(
  { tables, table, onConflict, describeRow }: Target,
  rows: readonly Row[],
): Promise<void> {
  const writes = rows.map(({ item }) => (onConflict === 'replace' ? { put: item } : { create: item }));
  try {
    await tables.batch(table, writes);
  } catch (error) {
    throw error instanceof ServiceError ? ofRow(error, rows, describeRow) : error;
  }
}

/** The error of a batch names the write; the message names the row instead. */
function ofRow(error: ServiceError, rows: readonly Row[], describeRow: Target['describeRow']): Error {
  const [, index, reason = error.message] = /^Write (\d+): (.*)$/s.exec(error.message) ?? [];
  // A body with one item can be too large only because of it.
  const isOfOnly = error.code === 'body_too_large' && rows.length === 1;
  const row = rows[isOfOnly ? 0 : Number(index)];
  if (row === undefined) return error;
  const rejected = new WorkFailed('line_rejected', `${describeRow(row)}: ${reason}`);
  rejected.cause = error;
  return rejected;
}

function isConflict(error: unknown): boolean {
  return ((error as Error).cause as Partial<ServiceError> | undefined)?.code === 'item_exists';
}

/** Rows whose items the table lacks. */
async function missingRows(
  { tables, table }: Target,
  rows: readonly Row[],
  look: typeof existingItems,
): Promise<readonly Row[]> {
  const found = await look(
    tables,
    table,
    rows.map(({ item }) => item.id),
  );
  return rows.filter(({ item }) => !found.has(item.id));
}
