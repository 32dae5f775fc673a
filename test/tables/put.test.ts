import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from '../support/http/error-response.ts';
import { startTestService } from '../support/service.ts';
import { newTable, startSharedService } from '../support/tables/shared-service.ts';

const service = await startSharedService();
const written = '{"statusCode":200,"body":{"message":"Item stored"}}';
const failed = { status: 412, code: 'precondition_failed' };
const put = (table: string, name: string, headers: Record<string, string> = {}) =>
  service.send('PUT', `${table}/put`, { id: 'a', name }, headers);
const nameIn = async (table: string) => (await service.get(`${table}/read?id=a`)).json.body.name;

test('creates an item and its table, then replaces it, in exactly these words', async () => {
  const table = newTable();
  for (const name of ['Alpha', 'Beta', 'Beta', '']) {
    assert.equal((await put(table, name)).text, written);
    assert.equal(await nameIn(table), name);
  }
  assert.deepEqual((await service.get(`${table}/read`)).json.body, [{ id: 'a', name: '' }]);
});

test('lets every one of 64 concurrent puts succeed, and keeps the name of one of them', async () => {
  const table = newTable();
  const names = Array.from({ length: 64 }, (_, n) => `name ${n}`);
  const responses = await Promise.all(names.map((name) => put(table, name)));
  assert.deepEqual([...new Set(responses.map(({ text }) => text))], [written]);
  assert.ok(names.includes(await nameIn(table)));
  assert.equal((await service.get(`${table}/read?count=true`)).json.body.count, 1);
});

test('creates only, under If-None-Match: *', async () => {
  const table = newTable();
  const responses = await Promise.all(
    Array.from({ length: 16 }, (_, n) => put(table, String(n), { 'if-none-match': '*' })),
  );
  const winners = responses.flatMap(({ text }, n) => (text === written ? [String(n)] : []));
  assert.equal(winners.length, 1);
  for (const response of responses) if (response.text !== written) assertError(response, failed);
  assert.equal(await nameIn(table), winners[0]);
});

test('replaces only the item with the tag in If-Match, and creates nothing', async () => {
  const table = newTable();
  await put(table, 'Alpha');
  const tag = (await service.get(`${table}/read?id=a`)).headers.get('etag') ?? '';
  assert.equal((await put(table, 'Beta', { 'if-match': tag })).text, written);
  assertError(await put(table, 'Gamma', { 'if-match': tag }), failed);
  assert.equal(await nameIn(table), 'Beta');
  assert.equal((await put(table, 'Delta', { 'if-match': '*' })).text, written);
  await service.send('DELETE', `${table}/delete`, { id: 'a' });
  assertError(await put(table, 'Epsilon', { 'if-match': '*' }), failed);
  assertError(await put(table, 'Epsilon', { 'if-match': tag }), failed);
  assert.deepEqual((await service.get(`${table}/read`)).json.body, []);
});

test('rejects conditions that it does not know, items that are too large, and tables that are not declared', async (t) => {
  const table = newTable();
  const invalid = { status: 400, code: 'invalid_request' };
  for (const headers of [
    { 'if-none-match': '"tag"' },
    { 'if-none-match': '*', 'if-match': '*' },
    { 'if-match': 'tag' },
  ] as Record<string, string>[]) {
    assertError(await put(table, 'x', headers), invalid);
  }
  assertError(await put(table, 'x'.repeat(409_600)), { ...invalid, param: 'name' });
  assertError(await service.get(`${table}/read`), { status: 404, code: 'table_not_found' });
  const declared = await startTestService(t, {
    env: { COUNTERFOIL_TABLES: 'declared', COUNTERFOIL_DECLARED_TABLES: 'books' },
  });
  const item = { id: 'a', name: '' };
  assert.equal((await declared.send('PUT', '/v3/table/books/put', item)).text, written);
  const other = await declared.send('PUT', '/v3/table/films/put', item);
  assertError(other, { status: 404, code: 'table_not_found', param: 'TABLE_NAME' });
});
