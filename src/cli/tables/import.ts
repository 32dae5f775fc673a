import { closeSync, createReadStream, fstatSync, openSync, writeFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { JsonOption } from '../command.ts';
import { jsonLine, printResult } from '../output/print.ts';
import { ProgressBar } from '../output/progress-bar.ts';
import { UsageError, WorkFailed } from '../problems.ts';
import {
  detectFormat,
  type FieldNames,
  type FileFormat,
  type Format,
  type Row,
  type Rows,
} from './item-file.ts';
import { jsonRows } from './json-rows.ts';
import { type UrlOption, withTables } from './open-tables.ts';
import { sortedRows } from './sorted-rows.ts';
import { RowsNotWritten, writeAll } from './write-all.ts';
import type { OnConflict, Target } from './write-rows.ts';

interface ImportOptions extends JsonOption, UrlOption {
  readonly map?: string;
  readonly onConflict: OnConflict;
  readonly format?: Format;
  readonly skipped?: string;
  readonly sort: boolean;
}

/** `counterfoil tables import`. Throws UsageError, and WorkFailed with the line at fault. */
export async function importTable(table: string, file: string, options: ImportOptions): Promise<void> {
  const { json, onConflict } = options;
  const format = detectFormat(file, options.format);
  const names = parseFieldNames(options.map);
  const report = new SkipReport(options.skipped);
  const { written, skipped } = await withTables(options, async (tables) => {
    const target: Target = { tables, table, onConflict, describeRow: ({ line }) => `line ${line}` };
    const source = await openSource(file, format, names);
    const bar = new ProgressBar();
    const total = (done: number) => {
      const share = source.share();
      return share === undefined ? undefined : Math.round(done / share);
    };
    const onSorted = (count: number) => bar.show(count, total(count), 'sorted');
    const rows = options.sort ? sortedRows(source.rows, onSorted) : source.rows;
    try {
      return await writeAll(target, rows, { bar, total, onSkipped: (skipped) => report.add(skipped) });
    } catch (error) {
      throw error instanceof RowsNotWritten ? importFailure(error, file) : error;
    } finally {
      source.close();
      report.close();
    }
  });
  const skips = onConflict === 'skip' ? `; ${skipped} were there already` : '';
  printResult(json, { table, written, skipped }, `${written} items are written to ${table}${skips}`);
}

function importFailure(failure: RowsNotWritten, file: string): unknown {
  const { code } = failure.cause as NodeJS.ErrnoException;
  const isOfFile = code !== undefined && /^(ENOENT|EISDIR|EACCES|EIO|Z_[A-Z_]+)$/.test(code);
  if (!isOfFile) return failure.reported;
  return new WorkFailed('file_not_read', `${file} cannot be read (${code}); ${failure.summary}`);
}

/** Bytes that are read from the file at once. */
const readBytes = 256 * 1024;

/** A file or standard input, as rows. */
interface ImportSource {
  readonly rows: Rows;
  /** The share of the file that was read, from 0 to 1; undefined for a pipe. */
  share(): number | undefined;
  close(): void;
}

/** @param file `-` is standard input */
async function openSource(
  file: string,
  { format, isCompressed }: FileFormat,
  names: FieldNames,
): Promise<ImportSource> {
  const stream = file === '-' ? undefined : createReadStream(file, { highWaterMark: readBytes });
  let bytes: number | undefined;
  stream?.once('open', (descriptor) => {
    const stat = fstatSync(descriptor);
    bytes = stat.isFile() ? stat.size : undefined;
  });
  const source = stream ?? process.stdin;
  const text = isCompressed ? unzipped(source) : source;
  return {
    rows: format === 'csv' ? await loadCsvRows(text, names) : jsonRows(text, names),
    share: () => (stream === undefined || !bytes ? undefined : stream.bytesRead / bytes),
    close: () => {
      text.destroy();
      source.destroy();
    },
  };
}

/** Parses `id=isbn,name=title`. Throws UsageError. */
function parseFieldNames(map: string | undefined): FieldNames {
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
async function loadCsvRows(source: Readable, names: FieldNames): Promise<Rows> {
  return (await import('./csv-rows.ts')).csvRows(source, names);
}

function unzipped(source: Readable): Readable {
  const text = createGunzip({ chunkSize: readBytes });
  source.on('error', (error) => text.destroy(error)).pipe(text);
  return text;
}

/** The file of `--skipped`: the line and id of every skipped item, as JSON Lines. */
class SkipReport {
  readonly #path: string | undefined;
  readonly #file: number | undefined;

  /** Throws WorkFailed, as `add` does, when the file cannot be written. @param path undefined for no report */
  constructor(path: string | undefined) {
    this.#path = path;
    this.#file = path === undefined ? undefined : this.#written(() => openSync(path, 'w'));
  }

  add(rows: readonly Row[]): void {
    const file = this.#file;
    if (file === undefined || rows.length === 0) return;
    const text = rows.map(({ line, item }) => jsonLine({ line, id: item.id })).join('');
    this.#written(() => writeFileSync(file, text));
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }

  #written<Result>(write: () => Result): Result {
    try {
      return write();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new WorkFailed('file_not_written', `${this.#path} cannot be written (${code})`);
    }
  }
}
