import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from '../support/http/error-response.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { startTestService } from '../support/service.ts';
import { fill, items } from '../support/tables/filled-tables.ts';
import { newTable, startSharedService } from '../support/tables/shared-service.ts';

const service = await startSharedService();
const deleted = '{"statusCode":200,"body":{"message":"Item deleted"}}';
const json = { 'Content-Type': 'application/json' };
const noItem = { status: 404, code: 'item_not_found', param: 'id' };

test('deletes an item, in exactly these words, and no other', async () => {
  const table = newTable();
  const all = items(5, 40);
  await fill(service, table, all);
  const other = newTable();
  await fill(service, other, all);
  const gone = await service.send('DELETE', `${table}/delete`, { id: 'item-0000002' });
  assert.equal(gone.text, deleted);
  assert.equal(gone.headers.get('content-type'), 'application/json');
  const left = all.filter(({ id }) => id !== 'item-0000002');
  assert.deepEqual((await service.get(`${table}/read`)).json.body, left);
  assert.deepEqual((await service.get(`${other}/read`)).json.body, all);
  assertError(await service.get(`${table}/read?id=item-0000002`), noItem);
  assertError(await service.send('PUT', `${table}/update`, { id: 'item-0000002', name: 'x' }), noItem);
});

test('deletes an item once, and returns 404 to later callers', async () => {
  const table = newTable();
  await service.post(`${table}/create`, { id: 'a', name: 'Alpha' });
  const responses = await Promise.all(
    Array.from({ length: 64 }, () => service.send('DELETE', `${table}/delete`, { id: 'a' })),
  );
  assert.equal(responses.filter(({ text }) => text === deleted).length, 1);
  for (const response of responses) if (response.text !== deleted) assertError(response, noItem);
});

test('creates an item again after it was deleted', async () => {
  const table = newTable();
  for (let n = 0; n < 8; n++) {
    const created = await service.post(`${table}/create`, { id: 'a', name: String(n) });
    assert.equal(created.status, 200);
    assert.deepEqual((await service.get(`${table}/read`)).json.body, [{ id: 'a', name: String(n) }]);
    assert.equal((await service.send('DELETE', `${table}/delete`, { id: 'a' })).text, deleted);
    assert.equal((await service.get(`${table}/read`)).text, '{"statusCode":200,"body":[]}');
  }
});

test('distinguishes a missing item from a missing table, and creates neither', async (t) => {
  const service = await startTestService(t, {
    env: { COUNTERFOIL_TABLES: 'declared', COUNTERFOIL_DECLARED_TABLES: 'books' },
  });
  const table = '/v3/table/books';
  const rejected = await service.send('DELETE', `${table}/delete`, { id: 'a' });
  assertError(rejected, noItem);
  assert.deepEqual(Object.keys(rejected.json.body), ['message', 'error']);
  assert.equal(rejected.json.body.message, rejected.json.body.error.message);
  const missing = await service.send('DELETE', '/v3/table/songs/delete', { id: 'a' });
  assertError(missing, { status: 404, code: 'table_not_found', param: 'TABLE_NAME' });
  assertError(await service.get('/v3/table/songs/read'), { status: 404, code: 'table_not_found' });
});

test('does not bring deleted items back after a restart', async (t) => {
  const first = await startTestService(t);
  const table = '/v3/table/books';
  const all = items(90, 100);
  await fill(first, table, all);
  const gone = all.filter((_item, index) => index % 3 !== 0);
  await Promise.all(gone.map(({ id }) => first.send('DELETE', `${table}/delete`, { id })));
  await first.stop();
  const second = await startTestService(t, { data: first.data });
  assert.deepEqual(
    (await second.get(`${table}/read`)).json.body,
    all.filter((item) => !gone.includes(item)),
  );
});

/** Bodies that are rejected, with the parameter that the error names. */
const badBodies: readonly (readonly [string, string | undefined])[] = [
  ['{}', 'id'],
  ['{"id":""}', 'id'],
  ['{"id":1}', 'id'],
  ['{"id":null}', 'id'],
  ['{"id":["a"]}', 'id'],
  ['{"id":{"a":"a"}}', 'id'],
  ['{"id":"\\ud800"}', 'id'],
  ['{"id":"a\\udfff"}', 'id'],
  ['{"id":"a","id":"b"}', 'id'],
  [JSON.stringify({ id: 'x'.repeat(1025) }), 'id'],
  [JSON.stringify({ id: 'é'.repeat(513) }), 'id'],
  ['{"id":"a","name":"Alpha"}', 'name'],
  ['{"id":"a","extra":1}', 'extra'],
  ['{"ID":"a"}', undefined],
  ['{"id":"a","__proto__":{}}', '__proto__'],
  ['["a"]', undefined],
  ['"a"', undefined],
  ['null', undefined],
];

test('rejects every invalid body, names its field, and deletes nothing', async (t) => {
  const table = newTable();
  await service.post(`${table}/create`, { id: 'a', name: 'Alpha' });
  for (const [body, param] of badBodies) {
    await t.test(body.slice(0, 60), async () => {
      const response = await service.send('DELETE', `${table}/delete`, body);
      assertError(response, {
        status: 400,
        code: 'invalid_request',
        ...(param === undefined ? {} : { param }),
      });
      assert.equal(response.json.body.message, response.json.body.error.message);
    });
  }
  assert.equal((await service.get(`${table}/read`)).json.body.length, 1);
});

test('rejects a delete without a body, or with one that is not JSON, and deletes nothing', async () => {
  const table = newTable();
  const { origin } = service;
  await service.post(`${table}/create`, { id: 'a', name: 'Alpha' });
  const line = `DELETE ${table}/delete`;
  const good = '{"id":"a"}';
  const invalid = { status: 400, code: 'invalid_request' };
  const malformed = { status: 400, code: 'malformed_json' };
  const notJson = { status: 415, code: 'unsupported_media_type' };
  for (const [request, expected] of [
    [requestText(origin, line), invalid],
    [requestText(origin, line, { 'Content-Length': '0' }), invalid],
    [requestText(origin, line, json), undefined],
    [requestText(origin, line, json, ''), malformed],
    [requestText(origin, line, json, good.slice(0, -1)), malformed],
    [requestText(origin, line, json, 'id=a'), malformed],
    [requestText(origin, line, {}, good), notJson],
    [requestText(origin, line, { 'Content-Type': 'text/plain' }, good), notJson],
    [requestText(origin, line, { ...json, 'Content-Encoding': 'gzip' }, good), notJson],
    [requestText(origin, line, json, good.padEnd(2 ** 20 + 1)), { status: 413, code: 'body_too_large' }],
  ] as const) {
    const response = await exchange(origin, request);
    assertError(response, expected ?? { status: 400, code: response.json.body.error.code });
    assert.equal(response.json.body.message, response.json.body.error.message);
  }
  assert.equal((await service.get(`${table}/read`)).json.body.length, 1);
  assert.equal((await exchange(origin, requestText(origin, line, json, good.padEnd(2 ** 20)))).text, deleted);
});

test('deletes an item of any id, also by an alias and a base path', async (t) => {
  const env = { COUNTERFOIL_BASE_PATH: '/api', COUNTERFOIL_TABLE_ALIASES: 'dynamodb' };
  const service = await startTestService(t, { env });
  const ids = ['\0', '"', '\\', 'é', '\u2028', '🔑', '\u{10ffff}', 'x'.repeat(1024), '🔑'.repeat(256), '%61'];
  for (const id of ids) await service.post('/api/v3/table/books/create', { id, name: id });
  for (const id of ids) {
    assert.equal((await service.send('DELETE', '/api/v3/dynamodb/books/delete', { id })).text, deleted);
  }
  const read = await service.get('/api/v3/table/books/read');
  assert.equal(read.text, '{"statusCode":200,"body":[]}');
});
