import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audited } from '../../src/audit/audit.ts';
import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import { Tables } from '../../src/tables/tables.ts';
import { bearing, keyRequest, withKeys } from '../support/access/keys.ts';
import { assertError } from '../support/http/error-response.ts';
import { newDataFolder, startTestService } from '../support/service.ts';
import { committing } from '../support/storage/copied-stores.ts';
import { fill, items } from '../support/tables/filled-tables.ts';

const deleted = '{"statusCode":200,"body":{"message":"Table deleted"}}';
const noTable = { status: 404, code: 'table_not_found', param: 'TABLE_NAME' };

test('lists the tables with their items and bytes, page by page', async (t) => {
  const service = await startTestService(t);
  assert.equal((await service.get('/v3/tables')).text, '{"statusCode":200,"body":[]}');
  for (const name of ['b', 'a', 'C'])
    await fill(service, `/v3/table/${name}`, items(name === 'a' ? 2 : 1, 3));
  const list = async (query = '') => (await service.get(`/v3/tables${query}`)).json;
  const bytesOf = async (name: string) =>
    (await service.get(`/v3/table/${name}/read`)).text.length - '{"statusCode":200,"body":[]}'.length;
  const expected = [];
  for (const [name, count] of [
    ['C', 1],
    ['a', 2],
    ['b', 1],
  ] as const)
    expected.push({ name, count, bytes: await bytesOf(name) });
  assert.deepEqual((await list()).body, expected);
  const first = await list('?limit=2');
  assert.deepEqual([first.body, first.next], [expected.slice(0, 2), 'a']);
  assert.deepEqual(await list('?limit=2&after=a'), { statusCode: 200, body: expected.slice(2) });
});

test('lists to a key only the tables that it is limited to, and lets only admin drop one', async (t) => {
  const data = newDataFolder(t);
  const [all, limited] = await withKeys(data, async (keys) => [
    (await keys.create(keyRequest({}))).text,
    (await keys.create(keyRequest({ tables: ['b', 'none'] }))).text,
  ]);
  const service = await startTestService(t, { data });
  for (const name of ['a', 'b'])
    await service.post(`/v3/table/${name}/create`, { id: 'x', name: '' }, bearing(all as string));
  const names = async (key: string) =>
    (await service.get('/v3/tables', bearing(key))).json.body.map((table: { name: string }) => table.name);
  assert.deepEqual(await names(all as string), ['a', 'b']);
  assert.deepEqual(await names(limited as string), ['b']);
  const rejected = await service.send('DELETE', '/v3/table/b', undefined, bearing(limited as string));
  assertError(rejected, { status: 403, code: 'forbidden' });
});

test('drops a table with all of its items, and no other; it can be made again', async (t) => {
  const service = await startTestService(t);
  const drop = (name: string) => service.send('DELETE', `/v3/table/${name}`);
  assertError(await drop('books'), noTable);
  const all = items(250, 10);
  for (const name of ['books', 'book', 'books2']) await fill(service, `/v3/table/${name}`, all);
  assert.equal((await drop('books')).text, deleted);
  assertError(await service.get('/v3/table/books/read'), noTable);
  assertError(await service.get('/v3/table/books/read?id=item-0000001'), noTable);
  assertError(await drop('books'), noTable);
  for (const name of ['book', 'books2'])
    assert.deepEqual((await service.get(`/v3/table/${name}/read`)).json.body, all);
  const few = items(3, 5);
  await fill(service, '/v3/table/books', few);
  assert.deepEqual((await service.get('/v3/table/books/read')).json.body, few);
});

test('a declared table stays after it was dropped, empty, and is listed', async (t) => {
  const env = { COUNTERFOIL_TABLES: 'declared', COUNTERFOIL_DECLARED_TABLES: 'books,films' };
  const service = await startTestService(t, { env });
  await fill(service, '/v3/table/books', items(150, 10));
  assert.equal((await service.send('DELETE', '/v3/table/books')).text, deleted);
  assert.equal((await service.send('DELETE', '/v3/table/films')).text, deleted);
  assert.equal((await service.get('/v3/table/books/read')).text, '{"statusCode":200,"body":[]}');
  const empty = { count: 0, bytes: 0 };
  assert.deepEqual((await service.get('/v3/tables')).json.body, [
    { name: 'books', ...empty },
    { name: 'films', ...empty },
  ]);
  assertError(await service.send('DELETE', '/v3/table/others'), noTable);
});

test('after a kill, a table that was being dropped has the rest of its items, and can be dropped', async (t) => {
  const folder = newDataFolder(t);
  const engine = openLmdbEngine(folder);
  const policy = { tables: 'open', declared: [] } as const;
  const whole = new Tables(engine, policy);
  const all = items(450, 20);
  for (let n = 0; n < all.length; n += 50)
    await whole.batch(
      'books',
      all.slice(n, n + 50).map((create) => ({ create })),
    );
  const audit = audited({ what: 'table.dropped', on: 'books', by: 'cli' });
  // The audit entry, and three of deletes.
  let left = 4;
  const dying = committing(engine, async (writes) => {
    if (left-- <= 0) throw new Error('killed');
    return engine.commit(writes);
  });
  await assert.rejects(new Tables(dying, policy).drop('books', audit), /killed/);
  await engine.close();
  const again = openLmdbEngine(folder);
  try {
    const tables = new Tables(again, policy);
    const { items: rest } = await tables.page('books', 1_000, {});
    assert.deepEqual(rest, all.slice(300));
    await tables.drop('books', audit);
    assert.deepEqual(await again.spaces(), ['service:audit']);
  } finally {
    await again.close();
  }
});
