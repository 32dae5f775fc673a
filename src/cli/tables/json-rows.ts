import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { ServiceError } from '../../errors.ts';
import { parseStrictText } from '../../strict-json.ts';
import {
  checkedRow,
  decodedUtf8,
  type FieldNames,
  importedLineBytesMax,
  type Row,
  type Rows,
  rejectedLine,
} from './item-file.ts';

/** Some editors write it at the beginning of a file. */
const byteOrderMark = /^\uFEFF/;

/** The items of a JSON Lines file: an object on each line. */
export async function* jsonRows(source: Readable, names: FieldNames): Rows {
  let line = 1;
  for await (const lines of readLines(source)) {
    const rows: Row[] = [];
    let failure: unknown;
    try {
      for (const text of lines) {
        if (text.toString().trim() !== '') rows.push(rowAt(line, text, names));
        line++;
      }
    } catch (error) {
      failure = error;
    }
    yield rows;
    if (failure !== undefined) throw failure;
  }
}

function rowAt(line: number, text: string | Buffer, names: FieldNames): Row {
  const whole = typeof text === 'string' ? text : decodedUtf8(text, line);
  const value = parsed(line === 1 ? whole.replace(byteOrderMark, '') : whole, line);
  return checkedRow(line, ownField(value, names.id), ownField(value, names.name), names);
}

function ownField(value: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function parsed(text: string, line: number): Readonly<Record<string, unknown>> {
  if (text.length > importedLineBytesMax) throw tooLong(line);
  const value = strict(text, line);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw rejectedLine(line, 'is not a JSON object');
  return value as Readonly<Record<string, unknown>>;
}

/** Applies the rules of a request, which reject what `JSON.parse` would silently change or drop. */
function strict(text: string, line: number): unknown {
  try {
    return parseStrictText(text, 'The line');
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw rejectedLine(line, error.code === 'malformed_json' ? 'is not JSON' : error.message);
  }
}

function tooLong(line: number): Error {
  return rejectedLine(line, `is longer than ${importedLineBytesMax} bytes`);
}

/**
 * The lines of each chunk; a line that is not UTF-8 stays bytes. Splits at line feeds alone: a JSON string may hold other
 * line separators of Unicode.
 */
async function* readLines(source: Readable): AsyncGenerator<readonly (string | Buffer)[]> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let line = 1;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    const end = chunk.lastIndexOf(0x0a);
    if (end >= 0) {
      const lines = split(Buffer.concat([...pieces, chunk.subarray(0, end)]));
      yield lines;
      line += lines.length;
      pieces = [];
      bytes = 0;
    }
    const rest = chunk.subarray(end + 1);
    pieces.push(rest);
    bytes += rest.length;
    if (bytes > importedLineBytesMax) throw tooLong(line);
  }
  if (bytes > 0) yield split(Buffer.concat(pieces));
}

function split(lines: Buffer): readonly (string | Buffer)[] {
  if (isUtf8(lines)) return lines.toString().split('\n');
  // In UTF-8 the byte of a line feed is no part of another character.
  return lines
    .toString('latin1')
    .split('\n')
    .map((text) => Buffer.from(text, 'latin1'));
}
