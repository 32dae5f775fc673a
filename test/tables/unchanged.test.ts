import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { compactionIdleMs } from '../../src/storage/lmdb/limits.ts';
import { isLong } from '../support/extent.ts';
import { assertError } from '../support/http/error-response.ts';
import { ask } from '../support/http/exact-response.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { openAppOver, readChunks, scanOf } from '../support/tables/app-over.ts';
import { fill, items } from '../support/tables/filled-tables.ts';
import { newTable, startSharedService } from '../support/tables/shared-service.ts';

const service = await startSharedService();

test('returns another ETag of a table after every change, and the same one until then', async (t) => {
  const own = await startTestService(t);
  const table = '/v3/table/books';
  await own.post(`${table}/create`, { id: 'a', name: 'Alpha' });
  const tags = [await tagOf(table, own)];
  const changes: readonly [string, string, unknown][] = [
    ['POST', 'create', { id: 'b', name: 'Beta' }],
    ['PUT', 'update', { id: 'a', name: 'Omega' }],
    ['PUT', 'update', { id: 'a', name: 'Alpha' }],
    ['DELETE', 'delete', { id: 'b' }],
    ['POST', 'batch', { writes: [{ create: { id: 'c', name: '' } }, { delete: { id: 'a' } }] }],
    ['DELETE', 'delete', { id: 'c' }],
  ];
  for (const [method, operation, body] of changes) {
    const changed = await own.send(method, `${table}/${operation}`, body);
    assert.equal(changed.status, 200, changed.text);
    tags.push(await tagOf(table, own));
  }
  assert.equal(new Set(tags).size, tags.length, 'every state of the table has its own tag');

  const last = tags.at(-1);
  await own.send('PUT', `${table}/update`, { id: 'a', name: '' });
  await own.send('DELETE', `${table}/delete`, { id: 'a' });
  const rejected = { writes: [{ create: { id: 'd', name: '' } }, { delete: { id: 'a' } }] };
  assert.equal((await own.post(`${table}/batch`, rejected)).status, 404);
  await own.post('/v3/table/films/create', { id: 'a', name: 'in another table' });
  assert.equal(await tagOf(table, own), last);
  // By then compaction has moved the writes from the journal into the leaves.
  await sleep(3 * compactionIdleMs);
  await own.stop();
  const again = await startTestService(t, { data: own.data });
  assert.equal(await tagOf(table, again), last, 'the tag survives a restart');
});

test('returns 304, without a body, for the current tag, and the table for any other', async () => {
  for (const size of [0, 1, 300]) {
    const table = newTable();
    await fill(service, table, items(Math.max(size, 1), 300));
    if (size === 0) await service.send('DELETE', `${table}/delete`, { id: 'item-0000000' });
    const whole = await ask(service.origin, `GET ${table}/read`);
    assert.equal(whole.json.body.length, size);
    const tag = whole.headers.get('etag') as string;
    assert.match(tag, /^"[\x21\x23-\x7e]+"$/, 'the tag is a strong one');

    for (const noneMatch of [tag, `W/${tag}`, `"x",${tag}`, `W/"x" , W/${tag}`, '*']) {
      const unchanged = await ask(service.origin, `GET ${table}/read`, { 'If-None-Match': noneMatch });
      assert.equal(unchanged.status, 304, noneMatch);
      assert.equal(unchanged.bytes.length, 0);
      assert.equal(unchanged.headers.get('etag'), tag);
      assert.equal(unchanged.headers.get('content-length'), undefined);
      assert.equal(unchanged.headers.get('content-type'), undefined);
    }
    for (const noneMatch of ['"x"', '""', tag.slice(1, -1), `${tag.slice(0, -1)}0"`, tag.slice(0, -2), '0']) {
      const changed = await ask(service.origin, `GET ${table}/read`, { 'If-None-Match': noneMatch });
      assert.equal(changed.status, 200, noneMatch);
      assert.equal(changed.text, whole.text);
    }
  }
});

test('distinguishes a missing table from an unchanged one', async (t) => {
  const service = await startTestService(t, {
    env: { COUNTERFOIL_TABLES: 'declared', COUNTERFOIL_DECLARED_TABLES: 'books' },
  });
  const missing = await service.get('/v3/table/songs/read', { 'if-none-match': '*' });
  assertError(missing, { status: 404, code: 'table_not_found' });
  const read = 'GET /v3/table/books/read';
  const tag = (await ask(service.origin, read)).headers.get('etag') as string;
  assert.equal((await ask(service.origin, read, { 'If-None-Match': tag })).status, 304);
  await service.post('/v3/table/books/create', { id: 'a', name: 'Alpha' });
  const created = await ask(service.origin, read, { 'If-None-Match': tag });
  assert.equal(created.json.body.length, 1, 'the first item of a declared table is a change');
});

test('never returns 304 for the tag before a write that was just acknowledged', async () => {
  const table = newTable();
  await service.post(`${table}/create`, { id: 'a', name: '0' });
  let tag = await tagOf(table);
  for (let n = 1; n <= 25; n++) {
    await service.send('PUT', `${table}/update`, { id: 'a', name: String(n) });
    const read = await ask(service.origin, `GET ${table}/read`, { 'If-None-Match': tag });
    assert.deepEqual(read.json?.body, [{ id: 'a', name: String(n) }]);
    tag = read.headers.get('etag') as string;
  }
});

test('reads no item of an unchanged table of 100,000 items, nor for HEAD', async (t) => {
  const all = readChunks(items(100, 10));
  const facts = { count: 100_000, textBytes: 5_000_000, version: 'v1' };
  let scans = 0;
  const app = await openAppOver(t, {
    describe: async () => facts,
    scan: async () => {
      scans++;
      return scanOf(all);
    },
  });
  const read = '/v3/table/books/read';
  for (const noneMatch of ['"v1"', 'W/"v1"', '"x", "v1-gzip"', '*']) {
    for (const method of ['GET', 'HEAD']) {
      const unchanged = await ask(app.origin, `${method} ${read}`, { 'If-None-Match': noneMatch });
      assert.equal(unchanged.status, 304);
    }
  }
  assert.equal((await ask(app.origin, `HEAD ${read}`)).status, 200);
  assert.equal((await ask(app.origin, `HEAD ${read}`, { 'If-None-Match': '"x"' })).status, 200);
  assert.equal(scans, 0);
  assert.equal((await ask(app.origin, `GET ${read}`, { 'If-None-Match': '"x"' })).json.body.length, 100);
  assert.equal(scans, 1);
});

const skip = isLong ? false : 'fills a table for 10 s: LONG is not 1';

test('returns 304 for a table of 100,000 items without reading it', { skip }, async () => {
  const table = newTable();
  await fill(service, table, items(100_000, 20));
  const tag = await tagOf(table);
  const shortestMs = async (times: number, headers: Record<string, string>, status: number) => {
    let shortest = Number.POSITIVE_INFINITY;
    for (let left = times; left > 0; left--) {
      const began = performance.now();
      assert.equal((await ask(service.origin, `GET ${table}/read`, headers)).status, status);
      shortest = Math.min(shortest, performance.now() - began);
    }
    return shortest;
  };
  // Not a measurement: a 304 that needs a scan would take nearly as long as the read.
  const readMs = await shortestMs(5, {}, 200);
  const unchangedMs = await shortestMs(30, { 'If-None-Match': tag }, 304);
  assert.ok(unchangedMs < readMs / 5, `${unchangedMs} ms against ${readMs} ms`);
});

async function tagOf(table: string, { get }: TestService = service): Promise<string> {
  return (await get(`${table}/read`)).headers.get('etag') as string;
}
