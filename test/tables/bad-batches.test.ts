import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from '../support/http/error-response.ts';
import { ask } from '../support/http/exact-response.ts';
import { items } from '../support/tables/filled-tables.ts';
import { newTable, startSharedService } from '../support/tables/shared-service.ts';

const service = await startSharedService();
const create = { create: { id: 'new', name: 'New' } };
const newItem = '{"id":"new","name":"New"}';

/** Bodies that are invalid as a whole, with the parameter that the error names, if any. */
const badBodies: readonly (readonly [string, string | undefined])[] = [
  ['{}', 'writes'],
  ['{"writes":[]}', 'writes'],
  ['{"writes":null}', 'writes'],
  ['{"writes":"create"}', 'writes'],
  [`{"writes":{"create":${newItem}}}`, 'writes'],
  [`{"writes":{"0":{"create":${newItem}},"length":1}}`, 'writes'],
  [`[{"create":${newItem}}]`, undefined],
  ['null', undefined],
  [`{"create":${newItem}}`, undefined],
  [`{"writes":[{"create":${newItem}}],"table":"films"}`, 'table'],
  [`{"writes":[{"create":${newItem}}],"writes":[]}`, 'writes'],
  [JSON.stringify({ writes: items(101, 5).map((item) => ({ create: item })) }), 'writes'],
  [JSON.stringify({ writes: Array(1_000).fill({}) }), 'writes'],
];

/** Invalid writes as JSON text, by their fault. */
const badWrites: Readonly<Record<string, string>> = {
  'no kind': '{}',
  null: 'null',
  'a string': '"create"',
  'an array': `["create",${newItem}]`,
  'two kinds': `{"create":${newItem},"delete":{"id":"a"}}`,
  'an item without a kind': newItem,
  'no such kind': `{"upsert":${newItem}}`,
  'a kind in another case': `{"Create":${newItem}}`,
  'a kind that every object has': `{"constructor":${newItem}}`,
  'a kind and a field': `{"create":${newItem},"if_match":"x"}`,
  'nothing to create': '{"create":null}',
  'an id to delete without an object': '{"delete":"a"}',
  'a create without a name': '{"create":{"id":"new"}}',
  'a create without an id': '{"create":{"name":"New"}}',
  'an update without a name': '{"update":{"id":"a"}}',
  'a delete without an id': '{"delete":{}}',
  'a delete with a name': '{"delete":{"id":"a","name":"Alpha"}}',
  'a create with a field too many': '{"create":{"id":"new","name":"","ttl":1}}',
  'an id that is a number': '{"create":{"id":1,"name":""}}',
  'a name that is null': '{"update":{"id":"a","name":null}}',
  'an empty id': '{"create":{"id":"","name":""}}',
  'an empty id to delete': '{"delete":{"id":""}}',
  'an id of 1,025 bytes': `{"create":{"id":"${'x'.repeat(1025)}","name":""}}`,
  'an id of 1,026 bytes in 513 characters': `{"update":{"id":"${'é'.repeat(513)}","name":""}}`,
  'half a surrogate pair in an id': '{"create":{"id":"\\ud800","name":""}}',
  'half a surrogate pair in an id to delete': '{"delete":{"id":"\\udfff"}}',
  'half a surrogate pair in a name': '{"update":{"id":"a","name":"\\ud800"}}',
  'an item of a byte more than 400 KB': `{"create":{"id":"new","name":"${'x'.repeat(400 * 1024 - 2)}"}}`,
};

test('rejects every invalid batch, and writes nothing', async (t) => {
  const table = newTable();
  await service.post(`${table}/create`, { id: 'a', name: 'Alpha' });
  for (const [body, param] of badBodies) {
    await t.test(body.slice(0, 60), async () => {
      const response = await service.post(`${table}/batch`, body);
      assertError(response, {
        status: 400,
        code: 'invalid_request',
        ...(param === undefined ? {} : { param }),
      });
      assert.deepEqual(Object.keys(response.json.body), ['message', 'error']);
      assert.equal(response.json.body.message, response.json.body.error.message);
    });
  }
  const { text } = await service.get(`${table}/read`);
  assert.equal(text, '{"statusCode":200,"body":[{"id":"a","name":"Alpha"}]}');
});

test('rejects a batch with an invalid write, names its position, and writes none of the others', async (t) => {
  const table = newTable();
  await service.post(`${table}/create`, { id: 'a', name: 'Alpha' });
  const good = JSON.stringify({ update: { id: 'a', name: 'changed' } });
  for (const [what, write] of Object.entries(badWrites)) {
    for (const [at, writes] of [
      [0, [write]],
      [1, [good, write]],
    ] as const) {
      await t.test(`${what}, at ${at} of ${writes.length}`, async () => {
        const response = await service.post(`${table}/batch`, `{"writes":[${writes.join()}]}`);
        assertError(response, { status: 400, code: 'invalid_request' });
        assert.match(
          String(response.json.body.error.param),
          new RegExp(`^writes\\.${at}(\\.|$)`),
          response.text,
        );
      });
    }
  }
  const { text } = await service.get(`${table}/read`);
  assert.equal(text, '{"statusCode":200,"body":[{"id":"a","name":"Alpha"}]}');
});

test('rejects a table name with invalid characters, as the other operations do', async () => {
  const { origin } = service;
  for (const name of ['a%20b', 'a:b', '%2e%2e', 'a'.repeat(256), 'service%3Apayments']) {
    const at = `/v3/table/${name}`;
    for (const [line, body] of [
      [`POST ${at}/batch`, { writes: [create] }],
      [`POST ${at}/batch`, { writes: [{ delete: { id: 'a' } }] }],
      [`DELETE ${at}/delete`, { id: 'a' }],
      [`GET ${at}/read?id=a`, undefined],
      [`GET ${at}/read?limit=1`, undefined],
    ] as const) {
      const headers = { 'Content-Type': 'application/json' };
      const response = await ask(origin, line, headers, JSON.stringify(body));
      assertError(response, { status: 400, code: 'invalid_request', param: 'TABLE_NAME' });
    }
  }
});

test('rejects a batch that is not JSON, or larger than 1 MiB', async () => {
  const table = newTable();
  const good = JSON.stringify({ writes: [create] });
  for (const [body, headers, status, code] of [
    [good.slice(0, -1), {}, 400, 'malformed_json'],
    ['', {}, 400, 'malformed_json'],
    [good, { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    [good, { 'content-encoding': 'gzip' }, 415, 'unsupported_media_type'],
    [good.padEnd(2 ** 20 + 1), {}, 413, 'body_too_large'],
  ] as const) {
    const response = await service.post(`${table}/batch`, body, headers);
    assertError(response, { status, code });
    assert.equal(response.json.body.message, response.json.body.error.message);
  }
  assertError(await service.get(`${table}/read`), { status: 404, code: 'table_not_found' });
  const large = await service.post(`${table}/batch`, good.padEnd(2 ** 20));
  assert.equal(large.text, '{"statusCode":200,"body":{"message":"Batch written"}}');
});
