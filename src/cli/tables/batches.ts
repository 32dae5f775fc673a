import { commitWritesMax } from '../../storage/limits.ts';
import type { TableItem } from '../../tables/tables.ts';
import { importedBatchBytesMax } from '../limits.ts';
import type { Row, Rows } from './row.ts';

/** Rows that are written together. No two of them have the same id. */
export interface RowBatch {
  readonly rows: readonly Row[];
  readonly ids: ReadonlySet<string>;
  /** Of the items as JSON, or more. */
  readonly bytes: number;
}

/** The rows in batches that fit into one commit, and into the body of one request. */
export async function* batchesOf(groups: Rows): AsyncGenerator<RowBatch> {
  let rows: Row[] = [];
  let ids = new Set<string>();
  let bytes = 0;
  let failure: unknown;
  try {
    for await (const group of groups) {
      for (const row of group) {
        const rowBytes = bytesOf(row.item);
        const isFull = rows.length === commitWritesMax || bytes + rowBytes > importedBatchBytesMax;
        if (rows.length > 0 && (isFull || ids.has(row.item.id))) {
          yield { rows, ids, bytes };
          rows = [];
          ids = new Set();
          bytes = 0;
        }
        rows.push(row);
        ids.add(row.item.id);
        bytes += rowBytes;
      }
    }
  } catch (error) {
    failure = error;
  }
  // The rows before a rejected line are written, so that its message holds for all of them.
  if (rows.length > 0) yield { rows, ids, bytes };
  if (failure !== undefined) throw failure;
}

/** `{"create":{"id":"","name":""}},` */
const frameBytes = 32;
/** `\u0000` */
const escapedBytesMax = 6;
/** Measuring a longer item costs little beside sending it. */
const estimatedCharactersMax = 1_000;

function bytesOf(item: TableItem): number {
  const characters = item.id.length + item.name.length;
  if (characters <= estimatedCharactersMax) return frameBytes + characters * escapedBytesMax;
  return frameBytes + Buffer.byteLength(JSON.stringify(item));
}
