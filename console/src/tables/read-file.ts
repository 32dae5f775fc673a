import type { Item } from '@counterfoil/client';
import { InputError } from '../input-error.ts';
import { texts } from '../texts.ts';

/**
 * The items of a CSV or JSON Lines file; the end of its name decides which. Throws an `InputError` with the number of a
 * line that is not an item.
 */
export async function itemsOf(file: File): Promise<readonly Item[]> {
  const text = textOf(await file.arrayBuffer());
  return /\.csv$/i.test(file.name) ? fromCsv(text) : fromLines(text);
}

function textOf(bytes: ArrayBuffer): string {
  try {
    return decoded(bytes);
  } catch {
    throw new InputError(texts.transfer.notUtf8(lineThatIsNotUtf8(new Uint8Array(bytes))));
  }
}

function decoded(bytes: ArrayBuffer | Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/** In UTF-8, a line feed is never part of another character, so each line can be decoded by itself. */
function lineThatIsNotUtf8(bytes: Uint8Array): number {
  for (let line = 1, first = 0; ; line++) {
    const feed = bytes.indexOf(0x0a, first);
    const end = feed < 0 ? bytes.length : feed;
    try {
      decoded(bytes.subarray(first, end));
    } catch {
      return line;
    }
    if (feed < 0) return line;
    first = feed + 1;
  }
}

async function fromCsv(text: string): Promise<readonly Item[]> {
  const [head = [], ...records] = await recordsOf(text);
  const [id, name] = [head.indexOf('id'), head.indexOf('name')];
  if (id < 0 || name < 0) throw new InputError(texts.transfer.noColumns);
  if (new Set(head).size < head.length) throw new InputError(texts.transfer.columnTwice);
  return records.map((record) => ({ id: record[id] ?? '', name: record[name] ?? '' }));
}

async function recordsOf(text: string): Promise<string[][]> {
  const { CsvError, parse } = await import('csv-parse/browser/esm/sync');
  try {
    return parse(text, { record_delimiter: ['\n', '\r\n'], skip_empty_lines: true }) as string[][];
  } catch (error) {
    if (error instanceof CsvError) throw new InputError(texts.transfer.malformedCsv(Number(error.lines)));
    throw error;
  }
}

function fromLines(text: string): readonly Item[] {
  return text.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [itemOf(line, index + 1)]));
}

function itemOf(line: string, number: number): Item {
  let value: { id?: unknown; name?: unknown } | null = null;
  try {
    value = JSON.parse(line);
  } catch {
    // Reported below.
  }
  const { id, name } = value ?? {};
  if (typeof id !== 'string' || typeof name !== 'string' || !hasTwoStrings(line))
    throw new InputError(texts.transfer.noItem(number));
  return { id, name };
}

/**
 * Whether a line of JSON is an object of exactly two strings. An item with further or repeated fields is rejected,
 * because it would be written without some of them. The text is checked, because `JSON.parse` keeps only the last of
 * equal keys.
 */
function hasTwoStrings(line: string): boolean {
  return /^\s*\{\s*:\s*,\s*:\s*\}\s*$/.test(line.replace(/"(?:[^"\\]|\\.)*"/g, ''));
}
