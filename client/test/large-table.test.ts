import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { count } from '../../test/support/extent.ts';
import { startTestService } from '../../test/support/service.ts';
import { fill } from '../../test/support/tables/filled-tables.ts';
import { installBuilt } from './support/built-client.ts';

/** Held at once, even the smaller number takes twice the memory that the read may take. */
const manyItems = count({ short: 400_000, long: 1_000_000 });
const itemsPerFill = 20_000;
/** Of resident memory, beyond that of the same process after a read of ten items. */
const growthBytesMax = 64_000_000;
/** Characters that a reader of JSON could mistake for the end of an item. */
const nameOf = (id: string) => `{"${id}"]\\ ü`;
/** V8 keeps each different string of up to 10 characters until it collects all objects: about 60 MB for a million. */
const idOf = (number: number) => `item-${String(number).padStart(7, '0')}`;

test(`iterates over ${manyItems} items in less than ${growthBytesMax / 1e6} MB`, async (t) => {
  const service = await startTestService(t);
  const itemsFrom = (from: number, length: number) =>
    Array.from({ length }, (_, index) => ({
      id: idOf(from + index),
      name: nameOf(idOf(from + index)),
    }));
  await fill(service, '/v3/table/small', itemsFrom(0, 10));
  for (let from = 0; from < manyItems; from += itemsPerFill)
    await fill(service, '/v3/table/large', itemsFrom(from, itemsPerFill));
  const { dist } = await installBuilt(t);
  const reader = join(import.meta.dirname, 'support/read-all.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...[reader, join(dist, 'index.js'), service.origin, 'small', 'large'],
  ]);
  const { count: read, last, baseBytes, peakBytes } = JSON.parse(stdout);
  const lastId = idOf(manyItems - 1);
  assert.deepEqual([read, last], [manyItems, { id: lastId, name: nameOf(lastId) }]);
  const growthBytes = peakBytes - baseBytes;
  const megabytes = (bytes: number) => Math.round(bytes / 1e6);
  t.diagnostic(`${megabytes(baseBytes)} MB after ten items, ${megabytes(growthBytes)} MB more after all`);
  assert.ok(growthBytes < growthBytesMax, `${megabytes(growthBytes)} MB`);
});
