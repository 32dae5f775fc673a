import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { TestService } from '../service.ts';
import { fill, type Item, items } from '../tables/filled-tables.ts';
import { startSharedService } from '../tables/shared-service.ts';
import { ask, type ExactResponse } from './exact-response.ts';

export const decoders = { gzip: gunzipSync, zstd: zstdDecompressSync };
export type Coding = keyof typeof decoders;
export const codings = Object.keys(decoders) as Coding[];

/** Items per table. Both are large enough to compress: one is sent in one chunk, and the other in several. */
export const tables = { medium: 50, large: 400 };
export type Table = keyof typeof tables;
export const tableNames = Object.keys(tables) as Table[];

/** A service with these tables, for all tests of a file. */
export async function startWithTables(): Promise<TestService> {
  const service = await startSharedService();
  await fillTables(service);
  return service;
}

/** Makes these tables. */
export async function fillTables(service: TestService): Promise<void> {
  for (const table of tableNames) await fill(service, `/v3/table/${table}`, compressible(tables[table]));
}

/** Half of a name compresses well, and the rest does not. */
function compressible(count: number): Item[] {
  return items(count, 120).map(({ id, name }) => ({ id, name: `${name}é"\\🔑${'x'.repeat(120)}` }));
}

/** @param accepted the value of Accept-Encoding */
export function read(
  { origin }: TestService,
  table: Table,
  accepted?: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<ExactResponse> {
  const acceptEncoding = accepted === undefined ? {} : { 'Accept-Encoding': accepted };
  return ask(origin, `GET /v3/table/${table}/read`, { ...acceptEncoding, ...headers });
}
