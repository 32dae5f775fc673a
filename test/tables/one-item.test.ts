import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from '../support/http/error-response.ts';
import { ask } from '../support/http/exact-response.ts';
import { startTestService } from '../support/service.ts';
import { fill } from '../support/tables/filled-tables.ts';
import { newTable, startSharedService } from '../support/tables/shared-service.ts';

const service = await startSharedService();

test('reads one item by its id, with an ETag, and no other', async () => {
  const table = newTable();
  await fill(service, table, [
    { id: 'a', name: 'Alpha' },
    { id: 'b', name: '' },
  ]);
  const alpha = await service.get(`${table}/read?id=a`);
  assert.equal(alpha.text, '{"statusCode":200,"body":{"id":"a","name":"Alpha"}}');
  assert.equal(alpha.headers.get('content-type'), 'application/json');
  assert.match(alpha.headers.get('etag') ?? '', /^"[\x21\x23-\x7e]+"$/, 'the tag is a strong one');
  assert.equal(
    (await service.get(`${table}/read?id=b`)).text,
    '{"statusCode":200,"body":{"id":"b","name":""}}',
  );
});

/** Ids with characters that have a meaning in a query, or that a query encodes. */
const hardIds = [
  ...[
    '%',
    '%25',
    '%ff',
    '100%',
    'a%20b',
    '+',
    'a+b',
    'a b',
    ' ',
    '&',
    'a&limit=1',
    '=',
    'a=b',
    ';',
    '?',
    '#',
  ],
  ...['/', '//', '..', '"', '\\', "'", '\0', 'a\0b', '\n', '\r\n', '\u007f', '\u0080', 'é', 'e\u0301', 'Ã©'],
  ...['\u2028', '\ufeff', '\ufffd', '\uffff', '\u{10000}', '🔑', '\u{10ffff}', '__proto__', 'null', '[]'],
  ...['x'.repeat(1024), 'é'.repeat(512), '🔑'.repeat(256), '%'.repeat(1024)],
];

test('finds an item by any percent-encoded id, and never one with a similar id', async () => {
  const table = newTable();
  const items = hardIds.map((id, index) => ({ id, name: `item ${index}` }));
  await fill(service, table, items);
  for (const item of items) {
    const found = await service.get(`${table}/read?id=${encodeURIComponent(item.id)}`);
    assert.deepEqual(found.json, { statusCode: 200, body: item }, JSON.stringify(item.id).slice(0, 60));
  }
  const spelledOut = await service.get(`${table}/read?id=%61%2B%62`);
  assert.deepEqual(spelledOut.json.body, { id: 'a+b', name: `item ${hardIds.indexOf('a+b')}` });
  const plus = await service.get(`${table}/read?id=a+b`);
  assert.deepEqual(plus.json.body.id, 'a b', 'a plus sign in a query is a space, as in forms');
});

test('distinguishes a missing item from a missing table', async (t) => {
  const service = await startTestService(t, {
    env: { COUNTERFOIL_TABLES: 'declared', COUNTERFOIL_DECLARED_TABLES: 'books,films' },
  });
  const table = '/v3/table/books';
  await service.post(`${table}/create`, { id: 'a', name: 'Alpha' });
  const noItem = { status: 404, code: 'item_not_found', param: 'id' };
  for (const id of ['A', 'aa', 'a%00', 'a%20', '%EF%BC%A1']) {
    assertError(await service.get(`${table}/read?id=${id}`), noItem);
  }
  assertError(await service.get('/v3/table/films/read?id=a'), noItem);
  const noTable = { status: 404, code: 'table_not_found', param: 'TABLE_NAME' };
  assertError(await service.get('/v3/table/songs/read?id=a'), noTable);
  assertError(await service.get('/v3/table/Books/read?id=a'), noTable);
});

test('returns 304 as long as the item has not changed, even if other items change', async (t) => {
  const first = await startTestService(t);
  const table = '/v3/table/books';
  await fill(first, table, [
    { id: 'a', name: 'Alpha' },
    { id: 'b', name: 'Alpha' },
  ]);
  const tag = (await first.get(`${table}/read?id=a`)).headers.get('etag') as string;
  const tagOfOther = (await first.get(`${table}/read?id=b`)).headers.get('etag') as string;
  assert.notEqual(tagOfOther, tag, 'another item has another tag');
  const status = async (origin: string, noneMatch: string) =>
    (await ask(origin, `GET ${table}/read?id=a`, { 'If-None-Match': noneMatch })).status;

  await first.send('PUT', `${table}/update`, { id: 'b', name: 'Beta' });
  await first.post(`${table}/create`, { id: 'c', name: 'Gamma' });
  for (const noneMatch of [tag, `W/${tag}`, `"x", ${tag}`, `${tagOfOther},W/${tag}`, '*']) {
    const unchanged = await ask(first.origin, `GET ${table}/read?id=a`, { 'If-None-Match': noneMatch });
    assert.equal(unchanged.status, 304, noneMatch);
    assert.equal(unchanged.bytes.length, 0);
    assert.equal(unchanged.headers.get('etag'), tag);
    assert.equal(unchanged.headers.get('content-length'), undefined);
  }
  for (const noneMatch of [tagOfOther, tag.slice(1, -1), tag.toUpperCase(), '"x"', '""', 'nonsense']) {
    assert.equal(await status(first.origin, noneMatch), 200, noneMatch);
  }
  await first.stop();
  const again = await startTestService(t, { data: first.data });
  assert.equal(await status(again.origin, tag), 304, 'the tag survives a restart');

  await again.send('PUT', `${table}/update`, { id: 'a', name: 'Omega' });
  assert.equal(await status(again.origin, tag), 200);
  await again.send('PUT', `${table}/update`, { id: 'a', name: 'Alpha' });
  assert.equal(await status(again.origin, tag), 304, 'the same content has the same tag');
});

test('returns 404 for a deleted item, even to a caller with its last tag', async () => {
  const table = newTable();
  await service.post(`${table}/create`, { id: 'a', name: 'Alpha' });
  const tag = (await service.get(`${table}/read?id=a`)).headers.get('etag') as string;
  await service.send('DELETE', `${table}/delete`, { id: 'a' });
  for (const noneMatch of [tag, '*']) {
    const gone = await service.get(`${table}/read?id=a`, { 'if-none-match': noneMatch });
    assertError(gone, { status: 404, code: 'item_not_found' });
  }
  assert.equal((await service.get(`${table}/read?id=a`)).headers.get('etag'), null, 'an error has no tag');
});

test('shows the last write of an item at once, also by an alias and a base path', async (t) => {
  const env = { COUNTERFOIL_BASE_PATH: '/api', COUNTERFOIL_TABLE_ALIASES: 'dynamodb' };
  const service = await startTestService(t, { env });
  await service.post('/api/v3/dynamodb/books/create', { id: 'a', name: '0' });
  const tags = new Set<string>();
  for (let n = 1; n <= 20; n++) {
    await service.send('PUT', '/api/v3/table/books/update', { id: 'a', name: String(n) });
    const read = await service.get('/api/v3/dynamodb/books/read?id=a');
    assert.deepEqual(read.json.body, { id: 'a', name: String(n) });
    tags.add(read.headers.get('etag') as string);
  }
  assert.equal(tags.size, 20);
});
