import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codings, read, startWithTables, tableNames } from '../support/http/compressible-tables.ts';
import { assertError } from '../support/http/error-response.ts';
import { ask } from '../support/http/exact-response.ts';
import { openAppOver, readChunks, scanOf } from '../support/tables/app-over.ts';
import { items } from '../support/tables/filled-tables.ts';

const service = await startWithTables();

test('each content coding has its own ETag, which returns 304 while nothing has changed', async () => {
  for (const table of tableNames) {
    const tags = new Map<string, string>();
    for (const coding of ['identity', ...codings]) {
      const tag = (await read(service, table, coding)).headers.get('etag') as string;
      assert.match(tag, /^"[\x21\x23-\x7e]+"$/);
      assert.equal((await read(service, table, coding)).headers.get('etag'), tag);
      tags.set(coding, tag);
    }
    assert.equal(new Set(tags.values()).size, 3);
    for (const [coding, tag] of tags) {
      for (const noneMatch of [tag, `W/${tag}`, `"x", ${tag}`]) {
        const unchanged = await read(service, table, coding, { 'If-None-Match': noneMatch });
        assert.equal(unchanged.status, 304, `${coding}: ${noneMatch}`);
        assert.equal(unchanged.bytes.length, 0);
        assert.equal(unchanged.headers.get('content-encoding'), undefined);
      }
    }
    await service.post(`/v3/table/${table}/create`, { id: 'new', name: '' });
    for (const [coding, tag] of tags) {
      assert.equal((await read(service, table, coding, { 'If-None-Match': tag })).status, 200);
    }
  }
});

test('a 304 has the ETag that a 200 to the same request would have', async () => {
  for (const coding of codings) {
    const tag = (await read(service, 'large', coding)).headers.get('etag') as string;
    const unchanged = await read(service, 'large', coding, { 'If-None-Match': tag });
    // RFC 9110, 15.4.5: a cache uses it to select the stored response to update (RFC 9111, 4.3.4).
    assert.equal(unchanged.headers.get('etag'), tag);
  }
});

for (const [what, headers] of [
  ['an uncompressed response', {}],
  ['a compressed response', { 'Accept-Encoding': 'gzip' }],
  ['a 304', { 'If-None-Match': '*' }],
] as const) {
  test(`sends Vary: Accept-Encoding with ${what}`, async () => {
    for (const table of tableNames) {
      for (const method of ['GET', 'HEAD']) {
        const response = await ask(service.origin, `${method} /v3/table/${table}/read`, headers);
        assert.equal(response.headers.get('vary'), 'accept-encoding', `${method} ${table}`);
      }
    }
  });
}

test('HEAD returns the headers of GET, in every coding', async () => {
  for (const coding of ['identity', ...codings]) {
    const got = await read(service, 'large', coding);
    const head = await ask(service.origin, 'HEAD /v3/table/large/read', { 'Accept-Encoding': coding });
    for (const name of ['etag', 'content-encoding', 'content-type', 'vary']) {
      assert.equal(head.headers.get(name), got.headers.get(name), `${name} of ${coding}`);
    }
  }
});

test('does not compress an error', async () => {
  for (const path of [
    '/v3/table/nothing/read',
    '/v3/table/medium/read?limit=0',
    '/v3/table/medium/read?id=x',
  ]) {
    const rejected = await ask(service.origin, `GET ${path}`, { 'Accept-Encoding': 'gzip, zstd' });
    assertError(rejected, { status: rejected.status, code: rejected.json.body.error.code });
    assert.equal(rejected.headers.get('content-encoding'), undefined);
    assert.equal(rejected.headers.get('etag'), undefined);
  }
});

test('returns an uncompressed error when reading fails before the first byte, in every coding', async (t) => {
  const all = readChunks(items(50, 100));
  const app = await openAppOver(t, {
    scan: async () => scanOf(all, failingAtOnce()),
  });
  for (const coding of ['identity', ...codings]) {
    const failed = await ask(app.origin, 'GET /v3/table/books/read', { 'Accept-Encoding': coding });
    assertError(failed, { status: 500, code: 'internal' });
    assert.equal(failed.headers.get('content-encoding'), undefined, coding);
    assert.equal(failed.headers.get('etag'), undefined, 'an error has no ETag');
  }
});

function* failingAtOnce(): Generator<Buffer> {
  yield* [];
  throw new Error('an engine that fails');
}
