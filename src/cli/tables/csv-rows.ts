import { Readable } from 'node:stream';
import { type CsvError, parse } from 'csv-parse';
import { importedLineBytesMax } from '../limits.ts';
import { type FieldNames, itemOf, type Row, rejectedLine, textOf } from './row.ts';

interface CsvRecord {
  readonly record: readonly Buffer[];
  /** Lines and records up to the end of this one. */
  readonly info: { readonly lines: number; readonly records: number };
}

/** Where the parser found no record, and how many it had found before. */
interface Fault {
  readonly records: number;
  readonly line: number;
  readonly message: string;
}

/** The items of a CSV file, whose first line names its columns. Fields stay bytes until they are checked as UTF-8. */
export async function* csvRows(source: Readable, names: FieldNames): AsyncGenerator<Row> {
  let fault: Fault | undefined;
  const records = recordsOf(source, (found) => {
    fault ??= found;
  });
  let header: readonly string[] | undefined;
  let line = 1;
  for await (const { record, info } of records) {
    // The parser is ahead of the records that are read.
    if (fault !== undefined && info.records > fault.records) break;
    const fields = record.map((field) => textOf(field, line));
    if (header === undefined) {
      header = fields;
      checkHeader(header, names);
    } else if (fields.length !== header.length)
      throw rejectedLine(line, `has ${fields.length} fields, and the first line ${header.length}`);
    else yield { line, item: itemOf((name) => fields[(header ?? []).indexOf(name)], names, line) };
    line = info.lines + 1;
  }
  if (fault !== undefined) throw rejectedLine(fault.line, fault.message);
  if (header === undefined)
    throw rejectedLine(1, 'the file is empty; a CSV file begins with the names of its columns');
}

function recordsOf(source: Readable, onFault: (fault: Fault) => void): AsyncIterable<CsvRecord> {
  const parser = parse({
    encoding: null,
    info: true,
    max_record_size: importedLineBytesMax,
    on_skip: (error) => {
      if (error !== undefined) onFault(faultOf(error));
      return undefined;
    },
    record_delimiter: ['\n', '\r\n'],
    relax_column_count: true,
    skip_empty_lines: true,
    // An error of the parser itself would drop the records that were not read yet.
    skip_records_with_error: true,
  });
  Readable.from(withoutByteOrderMark(source))
    .on('error', (error) => parser.destroy(error))
    .pipe(parser);
  return parser as AsyncIterable<CsvRecord>;
}

function faultOf({ message, lines, records }: CsvError): Fault {
  return { records: Number(records), line: Number(lines), message };
}

const byteOrderMark = Buffer.from('\ufeff');

/** The parser's own option would also make it decode the fields. */
async function* withoutByteOrderMark(source: Readable): AsyncGenerator<Buffer> {
  let first: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of source as AsyncIterable<Buffer>) {
    if (first === undefined) {
      yield chunk;
      continue;
    }
    first = Buffer.concat([first, chunk]);
    if (first.length < byteOrderMark.length) continue;
    const hasMark = first.subarray(0, byteOrderMark.length).equals(byteOrderMark);
    yield hasMark ? first.subarray(byteOrderMark.length) : first;
    first = undefined;
  }
  if (first !== undefined && first.length > 0) yield first;
}

function checkHeader(header: readonly string[], names: FieldNames): void {
  for (const name of Object.values(names)) {
    const times = header.filter((each) => each === name).length;
    if (times === 1) continue;
    const problem = times === 0 ? `there is no column ${name}` : `there are ${times} columns ${name}`;
    throw rejectedLine(1, `${problem}; --map names the columns: --map id=isbn,name=title`);
  }
}
