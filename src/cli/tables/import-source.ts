import { createReadStream, fstatSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { UsageError } from '../problems.ts';
import type { FileFormat } from './file-format.ts';
import { jsonRows } from './json-rows.ts';
import type { FieldNames, Rows } from './row.ts';

/** Bytes that are read from the file at once. */
const readBytes = 256 * 1024;

/** A file or standard input, as rows. */
export interface ImportSource {
  readonly rows: Rows;
  /** The share of the file that was read, from 0 to 1; undefined for a pipe. */
  share(): number | undefined;
  close(): void;
}

/** @param file `-` is standard input */
export async function openSource(
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
    rows: format === 'csv' ? await csvRowsOf(text, names) : jsonRows(text, names),
    share: () => (stream === undefined || !bytes ? undefined : stream.bytesRead / bytes),
    close: () => {
      text.destroy();
      source.destroy();
    },
  };
}

/** Parses `id=isbn,name=title`. Throws UsageError. */
export function fieldNamesOf(map: string | undefined): FieldNames {
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
async function csvRowsOf(source: Readable, names: FieldNames): Promise<Rows> {
  return (await import('./csv-rows.ts')).csvRows(source, names);
}

function unzipped(source: Readable): Readable {
  const text = createGunzip({ chunkSize: readBytes });
  source.on('error', (error) => text.destroy(error)).pipe(text);
  return text;
}
