import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Counterfoil, type Item } from '../../../client/src/index.ts';
import { requestBodyBytesMax } from '../../../src/http/server/app.ts';
import { commitWritesMax } from '../../../src/storage/limits.ts';
import type { TestService } from '../service.ts';

export type { Item };

/** For the items as JSON, with room for the rest of the body. */
const batchBytesMax = requestBodyBytesMax - 10_000;
/** Concurrent requests share their flushes. */
const requestsAtOnce = 8;

/**
 * Writes many items with the client, in batches of the largest allowed size.
 *
 * @param table its path: `/v3/table/NAME`
 */
export async function fill(
  service: TestService,
  table: string,
  items: readonly Item[],
  kind: 'create' | 'update' = 'create',
): Promise<void> {
  const left = inBatches(items);
  const name = /^\/v3\/table\/([^/]+)$/.exec(table)?.[1] ?? assert.fail(table);
  const { authorization } = service.keyHeader;
  const key = authorization === undefined ? {} : { key: authorization.replace('Bearer ', '') };
  const filled = new Counterfoil({ url: service.origin, ...key }).table(decodeURIComponent(name));
  const write = async () => {
    for (let batch = left.pop(); batch !== undefined; batch = left.pop())
      await filled.batch(batch.map((item) => (kind === 'create' ? { create: item } : { update: item })));
  };
  await Promise.all(Array.from({ length: requestsAtOnce }, write));
}

function inBatches(items: readonly Item[]): Item[][] {
  const batches: Item[][] = [[]];
  let bytes = 0;
  for (const item of items) {
    const itemBytes = Buffer.byteLength(JSON.stringify(item));
    const last = batches.at(-1) as Item[];
    if (last.length < commitWritesMax && bytes + itemBytes <= batchBytesMax) last.push(item);
    else {
      batches.push([item]);
      bytes = 0;
    }
    bytes += itemBytes;
  }
  return batches;
}

/** Items in the order of their ids. The names are random, so that a response is long even when it is compressed. */
export function items(count: number, nameCharacters: number): Item[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `item-${String(index).padStart(7, '0')}`,
    name: randomBytes(Math.ceil((nameCharacters * 3) / 4))
      .toString('base64')
      .slice(0, nameCharacters),
  }));
}

/** Compares items in the order in which a table returns them. */
export function byIdBytes(one: Item, other: Item): number {
  return Buffer.compare(Buffer.from(one.id), Buffer.from(other.id));
}
