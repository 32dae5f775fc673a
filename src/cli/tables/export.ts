import { createWriteStream, existsSync, renameSync, rmSync } from 'node:fs';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { TableItem } from '../../tables/tables.ts';
import type { JsonOption } from '../command.ts';
import { hint, jsonLine, printResult } from '../output/print.ts';
import { ProgressBar } from '../output/progress-bar.ts';
import { WorkFailed } from '../problems.ts';
import { detectFormat, type FileFormat, type Format } from './item-file.ts';
import { type UrlOption, withTables } from './open-tables.ts';
import type { EncodedItems, ItemRead } from './table-access.ts';

interface ExportOptions extends JsonOption, UrlOption {
  readonly force?: boolean;
  readonly format?: Format;
}

/** `counterfoil tables export`: a file gets its name when it is complete. */
export async function exportTable(table: string, file: string, options: ExportOptions): Promise<void> {
  const format = detectFormat(file, options.format);
  const isPipe = file === '-';
  if (!isPipe && options.force !== true && existsSync(file))
    throw new WorkFailed('file_exists', `${file} exists; --force replaces it`);
  const items = await withTables(options, async (tables) => {
    const read = await tables.read(table);
    return isPipe ? exportTo(process.stdout, read, format) : exportToFile(file, read, format);
  });
  const line = `${items} items are written to ${isPipe ? 'standard output' : file}`;
  // Standard output has the items.
  if (isPipe) hint(options.json ? jsonLine({ table, items }).trimEnd() : line);
  else printResult(options.json, { table, items, file }, line);
}

async function exportToFile(file: string, read: ItemRead, format: FileFormat): Promise<number> {
  const partial = `${file}.partial`;
  try {
    // Flush before the rename: otherwise a power cut could leave an empty file.
    const items = await exportTo(createWriteStream(partial, { flush: true }), read, format);
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
async function exportTo(
  target: Writable,
  read: ItemRead,
  { format, isCompressed }: FileFormat,
): Promise<number> {
  const bar = new ProgressBar();
  let items = 0;
  async function* texts(): AsyncGenerator<string> {
    for await (const encoded of format === 'csv' ? encodeCsv(read) : read.jsonLines()) {
      items += encoded.items;
      bar.show(items, read.count);
      if (encoded.text !== '') yield encoded.text;
    }
  }
  const source = Readable.from(texts(), { objectMode: false });
  const end = target !== process.stdout;
  try {
    if (isCompressed) await pipeline(source, createGzip(), target, { end });
    else await pipeline(source, target, { end });
  } catch (error) {
    // `… | head` closes the pipe and needs no more output.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  } finally {
    bar.clear();
  }
  return items;
}

/** Every field is quoted, so that line feeds, spaces and empty texts are unambiguous. */
async function* encodeCsv(read: ItemRead): AsyncGenerator<EncodedItems> {
  const { stringify } = await import('csv-stringify/sync');
  const options = { columns: ['id', 'name'], quoted: true, quoted_empty: true };
  yield { text: stringify([], { ...options, header: true }), items: 0 };
  for await (const group of read.groups())
    yield { text: stringify(group as TableItem[], options), items: group.length };
}
