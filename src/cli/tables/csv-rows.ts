import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { type CsvError, parse } from 'csv-parse';
import {
  checkedRow,
  decodedUtf8,
  type FieldNames,
  importedLineBytesMax,
  type Row,
  type Rows,
  rejectedLine,
} from './item-file.ts';

interface CsvRecord {
  readonly record: readonly Buffer[];
  /** Lines and records up to the end of this one. */
  readonly info: { readonly lines: number; readonly records: number };
}

/** Where the parser failed, and how many records it had found before. */
interface Fault {
  readonly records: number;
  readonly line: number;
  readonly message: string;
}

/** The items of a CSV file, whose first line names its columns. Fields stay bytes until they are checked as UTF-8. */
export async function* csvRows(source: Readable, names: FieldNames): Rows {
  let fault: Fault | undefined;
  const groups = parseRecords(source, (found) => {
    fault ??= found;
  });
  let columns: Columns | undefined;
  let line = 1;
  for await (const records of groups) {
    const rows: Row[] = [];
    let failure: unknown;
    try {
      for (const { record, info } of records) {
        // The parser is ahead of the records that are read.
        if (fault !== undefined && info.records > fault.records) break;
        const fields = record.map((field) => decodedUtf8(field, line));
        if (columns === undefined) columns = findColumns(fields, names);
        else rows.push(rowIn(fields, columns, line, names));
        line = info.lines + 1;
      }
    } catch (error) {
      failure = error;
    }
    yield rows;
    if (failure !== undefined) throw failure;
    if (fault !== undefined) throw rejectedLine(fault.line, fault.message);
  }
  if (columns === undefined)
    throw rejectedLine(1, 'the file is empty; a CSV file begins with the names of its columns');
}

/** Where the fields of an item are among those of a line. */
interface Columns {
  readonly count: number;
  readonly id: number;
  readonly name: number;
}

function findColumns(header: readonly string[], names: FieldNames): Columns {
  for (const name of Object.values(names)) {
    const times = header.filter((each) => each === name).length;
    if (times === 1) continue;
    const problem = times === 0 ? `there is no column ${name}` : `there are ${times} columns ${name}`;
    throw rejectedLine(1, `${problem}; --map names the columns: --map id=isbn,name=title`);
  }
  return { count: header.length, id: header.indexOf(names.id), name: header.indexOf(names.name) };
}

function rowIn(
  fields: readonly string[],
  { count, id, name }: Columns,
  line: number,
  names: FieldNames,
): Row {
  if (fields.length !== count)
    throw rejectedLine(line, `has ${fields.length} fields, and the first line ${count}`);
  return checkedRow(line, fields[id], fields[name], names);
}

/** The records that each chunk of the file completes. */
async function* parseRecords(
  source: Readable,
  onFault: (fault: Fault) => void,
): AsyncGenerator<readonly CsvRecord[]> {
  let records: CsvRecord[] = [];
  const parser = parse({
    encoding: null,
    info: true,
    max_record_size: importedLineBytesMax,
    on_skip: (error) => {
      if (error !== undefined) onFault(readFault(error));
      return undefined;
    },
    record_delimiter: ['\n', '\r\n'],
    relax_column_count: true,
    skip_empty_lines: true,
    // An error of the parser itself would drop the records that were not read yet.
    skip_records_with_error: true,
  }).on('data', (record: CsvRecord) => records.push(record));
  const taken = () => {
    const group = records;
    records = [];
    return group;
  };
  for await (const chunk of withoutByteOrderMark(source)) {
    await new Promise<void>((resolve, reject) => {
      parser.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
    yield taken();
  }
  parser.end();
  await finished(parser);
  yield taken();
}

function readFault({ message, lines, records }: CsvError): Fault {
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
