import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { itemsIn } from './items.ts';
import { spreadOf } from './measure.ts';
import type { ReadingTimes } from './read-client.ts';
import { sourceFile } from './source-file.ts';
import type { Workplace } from './workplace.ts';

/** Whole tables as answers: how long they take, and whether they are whole. */
export interface Reading {
  /** Mean over all answers. */
  readonly answerMs: number;
  readonly firstByteMs: number;
}

export interface ReadingLoad {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly bodyBytes: number;
}

/** Reads for so many seconds, each connection at least once; throws when an answer is not whole. */
export async function timeReads(workplace: Workplace, load: ReadingLoad): Promise<Reading> {
  const { url, connections, seconds, bodyBytes } = load;
  const args = [url, connections, seconds, bodyBytes].map(String);
  const text = await workplace.run(process.execPath, [sourceFile('read-client.ts'), ...args]);
  const { answerMs, firstByteMs } = JSON.parse(text) as ReadingTimes;
  return {
    answerMs: answerMs.reduce((sum, ms) => sum + ms, 0) / answerMs.length,
    firstByteMs: spreadOf(firstByteMs).median,
  };
}

/** `fetch` would ask for compression by itself, which the load does not. */
export const uncompressed = { 'accept-encoding': 'identity' };

export interface WholeAnswer {
  readonly bytes: number;
  readonly items: number;
}

/**
 * Reads a table once, to know what a whole answer is. Throws when it has fewer items than the table must have.
 *
 * @param file where the answer is kept, for others to serve
 */
export async function readOnce(url: string, itemsLeast: number, file = '/dev/null'): Promise<WholeAnswer> {
  const response = await fetch(url, { headers: uncompressed });
  if (response.status !== 200 || response.body === null) {
    throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  }
  const target = createWriteStream(file);
  await pipeline(Readable.fromWeb(response.body), target);
  const bytes = target.bytesWritten;
  const items = itemsIn(bytes);
  if (items < itemsLeast) throw new Error(`${url} answered ${items} items of at least ${itemsLeast}`);
  return { bytes, items };
}
