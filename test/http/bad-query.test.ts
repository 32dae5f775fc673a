import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from '../support/http/error-response.ts';
import { ask } from '../support/http/exact-response.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { fill } from '../support/tables/filled-tables.ts';
import { newTable, startSharedService } from '../support/tables/shared-service.ts';

const service = await startSharedService();
const { origin } = service;
const json = { 'Content-Type': 'application/json' };

/** Invalid queries of read, by the parameter that the error names; `-` where it names none. */
const badQueries: Readonly<Record<string, readonly string[]>> = {
  id: [
    ...['id=', 'id', '%69d=', 'id=a&id=a', 'id=a&id=b', 'id=a&%69d=b', 'id=&id=', 'id&id=a'],
    ...['id=a&limit=1', 'limit=1&id=a', 'id=a&after=a', 'id=a&after=a&limit=1', 'id=a&limit=0'],
    ...[`id=${'x'.repeat(1025)}`, `id=${'%C3%A9'.repeat(513)}`, `id=${'%F0%9F%94%91'.repeat(257)}`],
  ],
  after: [
    ...['after=', 'after', 'after=&limit=5', 'after=a&after=b', 'limit=1&after=a&after=a'],
    ...[`after=${'x'.repeat(1025)}`, `limit=2&after=${'%C3%A9'.repeat(513)}`],
  ],
  limit: [
    ...['0', '-1', '1.5', '1e3', '1001', '99999999999', '9'.repeat(400), '', '1.0', '-0', '00', '0x10'].map(
      (limit) => `limit=${limit}`,
    ),
    ...['+5', '%2B5', '5+', '%205', '5%00', '5%0A', '1,000', '5;after=a', '%D9%A3', '%EF%BC%95'].map(
      (limit) => `limit=${limit}`,
    ),
    ...['NaN', 'Infinity', 'null', 'true', '[5]', '10n', '1_0'].map((limit) => `limit=${limit}`),
    ...['limit', 'limit=1&limit=2', 'limit=1&limit=1', 'limit=1001&after=a', 'after=a&limit=0'],
  ],
  x: ['x=1', 'x', 'id=a&x=', 'limit=1&x=1&after=a'],
  ID: ['ID=a'],
  Limit: ['Limit=1'],
  before: ['before=b'],
  constructor: ['constructor=1'],
  __proto__: ['__proto__=1', '__proto__=1&id=a'],
  '-': ['id[]=a', 'limit[]=1', '=a', '=', '%00=a', 'a%20b=1', 'id%20=a', '?id=a', '%E2%82%AC=1', '4=a'],
};

/** Percent-encodings that are not UTF-8: truncated, no digits, half a surrogate pair, overlong, out of range. */
const notUtf8 = [
  '%',
  '%4',
  '%zz',
  'a%',
  '%u0061',
  '%ff',
  '%C3',
  '%C3%28',
  '%ED%A0%80',
  '%C0%80',
  '%F4%90%80%80',
];

test('rejects every invalid query of read, and names the parameter', async (t) => {
  const table = await tableOfBooks();
  for (const [param, queries] of Object.entries(badQueries)) {
    for (const query of queries) {
      await t.test(query.slice(0, 60), async () => {
        const response = await ask(origin, `GET ${table}/read?${query}`);
        assertError(response, { status: 400, code: 'invalid_request' });
        assert.equal(response.json.body.error.param, param === '-' ? undefined : param, response.text);
        assert.equal(response.headers.get('etag'), undefined);
        const head = await ask(origin, `HEAD ${table}/read?${query}`);
        assert.equal(head.status, 400, 'HEAD is rejected like GET');
      });
    }
  }
});

test('rejects a query whose percent-encoding is not UTF-8, and reads no other id', async (t) => {
  const table = await tableOfBooks();
  // A lenient decoder would find these items.
  for (const id of notUtf8) await service.post(`${table}/create`, { id, name: 'the wrong item' });
  for (const text of notUtf8) {
    for (const query of [`id=${text}`, `after=${text}`, `limit=1&after=${text}`, `limit=${text}`]) {
      await t.test(query, async () => {
        const response = await ask(origin, `GET ${table}/read?${query}`);
        assertError(response, { status: 400, code: 'invalid_request' });
      });
    }
  }
});

test('rejects a query with bytes that are not ASCII and not percent-encoded', async () => {
  const table = await tableOfBooks();
  // The UTF-8 bytes of "é", read as Latin-1.
  await service.post(`${table}/create`, { id: 'Ã©', name: 'the wrong item' });
  const request = requestText(origin, `GET ${table}/read?id=é`);
  for (const bytes of [Buffer.from(request), Buffer.from(request, 'latin1')]) {
    assertError(await exchange(origin, bytes), { status: 400, code: 'invalid_request' });
  }
});

test('rejects an invalid query also when If-None-Match matches', async (t) => {
  const table = await tableOfBooks();
  const tag = (await ask(origin, `GET ${table}/read`)).headers.get('etag') as string;
  for (const query of [
    'limit=0',
    'limit=1001',
    'limit=',
    'after=',
    `after=${'x'.repeat(1025)}`,
    'x=1',
    'id=',
  ]) {
    for (const noneMatch of [tag, '*']) {
      await t.test(`${query.slice(0, 40)}, If-None-Match: ${noneMatch === '*' ? '*' : 'a tag'}`, async () => {
        const response = await ask(origin, `GET ${table}/read?${query}`, { 'If-None-Match': noneMatch });
        assertError(response, { status: 400, code: 'invalid_request' });
      });
    }
  }
});

test('rejects a query on operations that write, and writes nothing', async () => {
  const table = await tableOfBooks();
  const writes: readonly [string, unknown][] = [
    [`POST ${table}/create`, { id: 'c', name: 'Gamma' }],
    [`PUT ${table}/update`, { id: 'a', name: 'Omega' }],
    [`DELETE ${table}/delete`, { id: 'a' }],
    [`POST ${table}/batch`, { writes: [{ delete: { id: 'a' } }] }],
  ];
  for (const [line, body] of writes) {
    for (const query of ['dry_run=1', 'id=b', 'limit=1']) {
      const response = await ask(origin, `${line}?${query}`, json, JSON.stringify(body));
      assertError(response, { status: 400, code: 'invalid_request', param: query.replace(/=.*/, '') });
    }
  }
  const { text } = await service.get(`${table}/read`);
  assert.equal(text, '{"statusCode":200,"body":[{"id":"a","name":"Alpha"},{"id":"b","name":"Beta"}]}');
});

test('a GET with any body returns the same item and page as one without a body', async () => {
  const table = await tableOfBooks();
  for (const query of ['id=a', 'limit=1', 'after=a']) {
    const plain = await ask(origin, `GET ${table}/read?${query}`);
    assert.equal(plain.status, 200);
    for (const body of ['{"":""}', '{"id":"b"}', '{"id":', 'limit=5', 'x'.repeat(100_000)]) {
      for (const headers of [
        json,
        {},
        { 'Content-Type': 'text/plain' },
        { ...json, 'Content-Encoding': 'br' },
      ]) {
        const response = await ask(origin, `GET ${table}/read?${query}`, headers, body);
        assert.equal(response.text, plain.text);
        assert.equal(response.headers.get('etag'), plain.headers.get('etag'));
        assert.equal((await ask(origin, `HEAD ${table}/read?${query}`, headers, body)).status, 200);
      }
    }
  }
});

test('accepts equivalent spellings of a query', async () => {
  const table = await tableOfBooks();
  const text = async (query: string) => (await ask(origin, `GET ${table}/read?${query}`)).text;
  assert.equal(await text('%69%64=%61'), await text('id=a'));
  assert.equal(await text('&limit=1&&after=a&'), await text('after=a&limit=1'));
  assert.equal(await text('limit=%31'), await text('limit=1'));
  assert.equal(await text(''), await text('limit=1000'));
});

async function tableOfBooks(): Promise<string> {
  const table = newTable();
  await fill(service, table, [
    { id: 'a', name: 'Alpha' },
    { id: 'b', name: 'Beta' },
  ]);
  return table;
}
