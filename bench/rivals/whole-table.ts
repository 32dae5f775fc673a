import type { Environment } from '../environment.ts';
import type { ReadingTimes } from '../read-client.ts';
import { timeReads } from '../reading.ts';
import { sourceFile } from '../source-file.ts';
import { itemsWithin, type WholeTable } from './contender.ts';

/** Reads of all items of a table, in one response or page by page. */
export interface WholeReads {
  readonly items: number;
  readonly connections: number;
  /** Every connection reads at least once. */
  readonly seconds: number;
}

export interface WholeOutcome {
  /** How many times the whole table was read. */
  readonly reads: number;
  readonly readsPerSecond: number;
}

/** A whole read that takes longer has failed: json-server may never finish with a million items. */
export const wholeMsMax = 120_000;

/** Finds how long the complete response is, after counting its items. Needed for tables of one response. */
export async function wholeBytes(whole: WholeTable, items: number): Promise<number> {
  if ('pageUrl' in whole) return 0;
  const response = await fetch(whole.url, {
    ...(whole.body !== undefined && { method: 'POST', body: whole.body }),
    headers: { 'accept-encoding': 'identity', 'content-type': 'application/json' },
    signal: AbortSignal.timeout(wholeMsMax),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  // As latin1 a string has at most 2^29 characters, more than any of the tables.
  const count = itemsWithin(bytes.toString('latin1'));
  if (response.status !== 200 || count !== items)
    throw new Error(`${whole.url} returned ${response.status} and ${count} items of ${items}`);
  return bytes.length;
}

/** @param bytes as `wholeBytes` found it */
export async function readWhole(
  environment: Environment,
  whole: WholeTable,
  bytes: number,
  { items, connections, seconds }: WholeReads,
): Promise<WholeOutcome> {
  if (!('pageUrl' in whole)) {
    const { url, body } = whole;
    const load = { url, connections, seconds, bodyBytes: bytes, msMax: wholeMsMax };
    const { responseMs, responses } = await timeReads(
      environment,
      body === undefined ? load : { ...load, post: body },
    );
    return { reads: responses, readsPerSecond: (connections * 1_000) / responseMs };
  }
  const pages = Math.ceil(items / whole.itemsPerPage);
  const args = [whole.pageUrl, connections, seconds, pages].map(String);
  const text = await environment.run(process.execPath, [sourceFile('rivals/page-client.ts'), ...args], {
    msMax: wholeMsMax,
  });
  const { responseMs } = JSON.parse(text) as ReadingTimes;
  const mean = responseMs.reduce((sum, ms) => sum + ms, 0) / responseMs.length;
  return { reads: responseMs.length, readsPerSecond: (connections * 1_000) / mean };
}
