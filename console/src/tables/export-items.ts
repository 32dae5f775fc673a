import type { Item, Table } from '@counterfoil/client';
import { itemsPerPiece } from '../limits.ts';

export type Format = 'jsonl' | 'csv';

const formats = {
  jsonl: {
    type: 'application/jsonl',
    head: '',
    line: ({ id, name }: Item) => `${JSON.stringify({ id, name })}\n`,
  },
  csv: {
    type: 'text/csv',
    head: 'id,name\n',
    line: ({ id, name }: Item) => `${quoted(id)},${quoted(name)}\n`,
  },
} as const;

/** The whole table at one moment, as a file. @param progress called with the number of items so far */
export async function exportItems(
  table: Table,
  format: Format,
  progress: (items: number) => void,
  signal: AbortSignal,
): Promise<Blob> {
  const { type, head, line } = formats[format];
  const pieces: string[] = [head];
  let piece = '';
  let items = 0;
  for await (const item of table.all({ signal })) {
    piece += line(item);
    items++;
    if (items % itemsPerPiece !== 0) continue;
    pieces.push(piece);
    piece = '';
    progress(items);
    // The pause keeps the page usable.
    await new Promise((resolve) => setTimeout(resolve));
  }
  progress(items);
  return new Blob([...pieces, piece], { type });
}

/** Lets the browser store a file. */
export function store(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** A field of a CSV file (RFC 4180). */
function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
