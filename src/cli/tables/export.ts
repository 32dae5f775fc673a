import { createWriteStream, existsSync, renameSync, rmSync } from 'node:fs';
import { PassThrough, Readable, type Transform, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { stringify } from 'csv-stringify';
import { itemsOf } from '../../storage/item-text.ts';
import type { Scan, TableItem } from '../../tables/tables.ts';
import type { JsonOption } from '../command.ts';
import { hint, jsonLine, printResult } from '../output/print.ts';
import { ProgressBar } from '../output/progress-bar.ts';
import { WorkFailed } from '../problems.ts';
import { type FileFormat, type Format, formatOf } from './file-format.ts';
import { withTables } from './with-tables.ts';

interface ExportOptions extends JsonOption {
  readonly force?: boolean;
  readonly format?: Format;
}

/** `counterfoil tables export`: a file gets its name when it is complete. */
export async function exportTable(table: string, file: string, options: ExportOptions): Promise<void> {
  const format = formatOf(file, options.format);
  const isPipe = file === '-';
  if (!isPipe && options.force !== true && existsSync(file))
    throw new WorkFailed('file_exists', `${file} exists; --force replaces it`);
  const items = await withTables(async (tables) => {
    const scan = await tables.read(table);
    return isPipe ? exportTo(process.stdout, scan, format) : exportToFile(file, scan, format);
  });
  const line = `${items} items are written to ${isPipe ? 'standard output' : file}`;
  // Standard output has the items.
  if (isPipe) hint(options.json ? jsonLine({ table, items }).trimEnd() : line);
  else printResult(options.json, { table, items, file }, line);
}

async function exportToFile(file: string, scan: Scan, format: FileFormat): Promise<number> {
  const partial = `${file}.partial`;
  try {
    // Flushed before it gets its name: after a power cut the file would be empty otherwise.
    const items = await exportTo(createWriteStream(partial, { flush: true }), scan, format);
    renameSync(partial, file);
    return items;
  } catch (error) {
    rmSync(partial, { force: true });
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw new WorkFailed('file_not_written', `${file} cannot be written (${code})`);
  }
}

/** @returns the number of items */
async function exportTo(target: Writable, scan: Scan, { format, isCompressed }: FileFormat): Promise<number> {
  const bar = new ProgressBar();
  let items = 0;
  async function* counted(): AsyncGenerator<TableItem | string> {
    for await (const item of itemsOf(scan.chunks)) {
      items++;
      bar.show(items, scan.count);
      yield format === 'csv' ? item : `${JSON.stringify({ id: item.id, name: item.name })}\n`;
    }
  }
  const encoder: Transform = format === 'csv' ? csvEncoder() : new PassThrough();
  const coder: Transform = isCompressed ? createGzip() : new PassThrough();
  try {
    await pipeline(Readable.from(counted()), encoder, coder, target, { end: target !== process.stdout });
  } catch (error) {
    // `… | head` closes the pipe: nobody reads the rest.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  } finally {
    bar.clear();
  }
  return items;
}

/** Every field has quotes, so that no line feed, space or empty text is taken for something else. */
function csvEncoder(): Transform {
  return stringify({ header: true, columns: ['id', 'name'], quoted: true, quoted_empty: true });
}
