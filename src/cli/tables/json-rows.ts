import type { Readable } from 'node:stream';
import { importedLineBytesMax } from '../limits.ts';
import { type FieldNames, itemOf, type Row, rejectedLine, textOf } from './row.ts';

/** The items of a JSON Lines file: an object on each line. */
export async function* jsonRows(source: Readable, names: FieldNames): AsyncGenerator<Row> {
  let line = 0;
  for await (const bytes of linesOf(source)) {
    line++;
    const text = textOf(bytes, line);
    if (text.trim() === '') continue;
    const value = parsed(text, line);
    yield {
      line,
      item: itemOf((name) => (Object.hasOwn(value, name) ? value[name] : undefined), names, line),
    };
  }
}

function parsed(text: string, line: number): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw rejectedLine(line, 'is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw rejectedLine(line, 'is not a JSON object');
  return value as Readonly<Record<string, unknown>>;
}

/** Splits at line feeds alone: a JSON string may hold other line separators of Unicode. */
async function* linesOf(source: Readable): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let lines = 0;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
      yield Buffer.concat([...pieces, chunk.subarray(from, end)]);
      lines++;
      pieces = [];
      bytes = 0;
      from = end + 1;
    }
    pieces.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > importedLineBytesMax)
      throw rejectedLine(lines + 1, `is longer than ${importedLineBytesMax} bytes`);
  }
  if (bytes > 0) yield Buffer.concat(pieces);
}
