import type { Item } from '@counterfoil/client';
import { InputError } from '../input-error.ts';
import { texts } from '../texts.ts';

/** The items of a CSV or JSON Lines file, by the end of its name. Throws with the line of what is no item. */
export async function itemsOf(file: File): Promise<readonly Item[]> {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
  return /\.csv$/i.test(file.name) ? fromCsv(text) : fromLines(text);
}

async function fromCsv(text: string): Promise<readonly Item[]> {
  const { parse } = await import('csv-parse/browser/esm/sync');
  const options = { record_delimiter: ['\n', '\r\n'], skip_empty_lines: true };
  const [head = [], ...records] = parse(text, options) as string[][];
  const [id, name] = [head.indexOf('id'), head.indexOf('name')];
  if (id < 0 || name < 0) throw new InputError(texts.transfer.noColumns);
  return records.map((record) => ({ id: record[id] ?? '', name: record[name] ?? '' }));
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
  if (typeof id !== 'string' || typeof name !== 'string') throw new InputError(texts.transfer.noItem(number));
  return { id, name };
}
