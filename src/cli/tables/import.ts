import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ServiceError } from '../../errors.ts';
import { commitWritesMax } from '../../storage/limits.ts';
import type { Tables } from '../../tables/tables.ts';
import type { JsonOption } from '../command.ts';
import { printResult } from '../output/print.ts';
import { ProgressBar } from '../output/progress-bar.ts';
import { UsageError, WorkFailed } from '../problems.ts';
import { type Format, formatOf } from './file-format.ts';
import { jsonRows } from './json-rows.ts';
import { type FieldNames, type Row, rejectedLine } from './row.ts';
import { withTables } from './with-tables.ts';

interface ImportOptions extends JsonOption {
  readonly map?: string;
  readonly onConflict: 'fail' | 'skip' | 'replace';
  readonly format?: Format;
}

interface Counts {
  written: number;
  skipped: number;
}

/** `counterfoil tables import`: each commit has 100 items, so that a kill leaves the first hundreds of the file. */
export async function importTable(table: string, file: string, options: ImportOptions): Promise<void> {
  const { format, isCompressed } = formatOf(file, options.format);
  const names = fieldNamesOf(options.map);
  const counts: Counts = { written: 0, skipped: 0 };
  const bar = new ProgressBar();
  await withTables(async (tables) => {
    const source = readable(file, isCompressed);
    try {
      const rows = format === 'csv' ? await csvRowsOf(source, names) : jsonRows(source, names);
      for await (const batch of batchesOf(rows)) {
        await write({ tables, table, onConflict: options.onConflict }, batch, counts);
        bar.show(counts.written + counts.skipped, undefined);
      }
    } catch (error) {
      throw failureOf(error, file, counts);
    } finally {
      source.destroy();
      bar.clear();
    }
  });
  const { written, skipped } = counts;
  const skips = options.onConflict === 'skip' ? `; ${skipped} were there already` : '';
  printResult(options.json, { table, written, skipped }, `${written} items are written to ${table}${skips}`);
}

/** Parses `id=isbn,name=title`. Throws UsageError. */
function fieldNamesOf(map: string | undefined): FieldNames {
  const names = { id: 'id', name: 'name' };
  for (const pair of map?.split(',') ?? []) {
    const [, field, name] = /^(id|name)=(.+)$/s.exec(pair) ?? [];
    if (field === undefined || name === undefined)
      throw new UsageError(`--map: ${pair} is not id=… or name=…`);
    names[field as keyof FieldNames] = name;
  }
  return names;
}

/** Loads the parser only for the files that need it. */
async function csvRowsOf(source: Readable, names: FieldNames): Promise<AsyncGenerator<Row>> {
  return (await import('./csv-rows.ts')).csvRows(source, names);
}

function readable(file: string, isCompressed: boolean): Readable {
  const source = file === '-' ? process.stdin : createReadStream(file);
  if (!isCompressed) return source;
  const text = createGunzip();
  source.on('error', (error) => text.destroy(error)).pipe(text);
  return text;
}

/** A batch ends before an item that it already has: a commit writes no item twice. */
async function* batchesOf(rows: AsyncIterable<Row>): AsyncGenerator<readonly Row[]> {
  let batch = new Map<string, Row>();
  let failure: unknown;
  try {
    for await (const row of rows) {
      if (batch.size === commitWritesMax || batch.has(row.item.id)) {
        yield [...batch.values()];
        batch = new Map();
      }
      batch.set(row.item.id, row);
    }
  } catch (error) {
    failure = error;
  }
  // The rows before a rejected line are written, so that its message holds for all of them.
  if (batch.size > 0) yield [...batch.values()];
  if (failure !== undefined) throw failure;
}

interface Target extends Pick<ImportOptions, 'onConflict'> {
  readonly tables: Tables;
  readonly table: string;
}

async function write(target: Target, rows: readonly Row[], counts: Counts): Promise<void> {
  const { tables, table, onConflict } = target;
  const writes = rows.map(({ item }) => (onConflict === 'replace' ? { put: item } : { create: item }));
  try {
    await tables.batch(table, writes);
    counts.written += rows.length;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const isConflict = error.code === 'item_exists';
    if (!isConflict || onConflict !== 'skip') throw ofLine(error, rows);
    const missing = await missingIn(target, rows);
    counts.skipped += rows.length - missing.length;
    if (missing.length > 0) await write(target, missing, counts);
  }
}

async function missingIn({ tables, table }: Target, rows: readonly Row[]): Promise<readonly Row[]> {
  const missing: Row[] = [];
  for (const row of rows) {
    try {
      await tables.find(table, row.item.id);
    } catch (error) {
      if ((error as Partial<ServiceError>).code !== 'item_not_found') throw error;
      missing.push(row);
    }
  }
  return missing;
}

/** The error of a batch names the write; the message names the line instead. */
function ofLine(error: ServiceError, rows: readonly Row[]): Error {
  const [, index, reason] = /^Write (\d+): (.*)$/s.exec(error.message) ?? [];
  const row = rows[Number(index)];
  return row === undefined ? error : rejectedLine(row.line, reason ?? '');
}

function failureOf(error: unknown, file: string, { written, skipped }: Counts): unknown {
  const done = `${written} items were written${skipped > 0 ? `, ${skipped} skipped` : ''}`;
  if (error instanceof WorkFailed) return new WorkFailed(error.code, `${error.message} (${done} before)`);
  const { code } = error as NodeJS.ErrnoException;
  const isOfFile = code !== undefined && /^(ENOENT|EISDIR|EACCES|EIO|Z_[A-Z_]+)$/.test(code);
  return isOfFile ? new WorkFailed('file_not_read', `${file} cannot be read (${code}); ${done}`) : error;
}
