import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Environment } from './environment.ts';
import { itemsIn } from './items.ts';
import { spreadOf } from './measure.ts';
import type { ReadingTimes } from './read-client.ts';
import { sourceFile } from './source-file.ts';

/** Times the reads of whole tables, and checks that the responses are complete. */
export interface Reading {
  /** Mean over all responses. */
  readonly responseMs: number;
  readonly firstByteMs: number;
  readonly responses: number;
}

export interface ReadingLoad {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly bodyBytes: number;
  /** Makes the request a POST. */
  readonly post?: string;
  /** A client that takes longer is stopped, and the call throws. */
  readonly msMax?: number;
}

/** Reads for so many seconds, each connection at least once; throws when a response is incomplete. */
export async function timeReads(environment: Environment, load: ReadingLoad): Promise<Reading> {
  const { url, connections, seconds, bodyBytes, post, msMax } = load;
  const args = [url, connections, seconds, bodyBytes, ...(post === undefined ? [] : [post])].map(String);
  const text = await environment.run(
    process.execPath,
    [sourceFile('read-client.ts'), ...args],
    msMax === undefined ? {} : { msMax },
  );
  const { responseMs, firstByteMs } = JSON.parse(text) as ReadingTimes;
  return {
    responseMs: responseMs.reduce((sum, ms) => sum + ms, 0) / responseMs.length,
    firstByteMs: spreadOf(firstByteMs).median,
    responses: responseMs.length,
  };
}

/** The load does not request compression; `fetch` does by default. */
export const uncompressed = { 'accept-encoding': 'identity' };

export interface WholeResponse {
  readonly bytes: number;
  readonly items: number;
}

/**
 * Reads a table once, to learn the length of the complete response. Throws when it has fewer items than the table must
 * have.
 *
 * @param file where the response is stored, for other servers to serve
 */
export async function readOnce(url: string, itemsLeast: number, file = '/dev/null'): Promise<WholeResponse> {
  const response = await fetch(url, { headers: uncompressed });
  if (response.status !== 200 || response.body === null) {
    throw new Error(`${url} returned ${response.status}: ${await response.text()}`);
  }
  const target = createWriteStream(file);
  await pipeline(Readable.fromWeb(response.body), target);
  const bytes = target.bytesWritten;
  const items = itemsIn(bytes);
  if (items < itemsLeast) throw new Error(`${url} returned ${items} items of at least ${itemsLeast}`);
  return { bytes, items };
}
