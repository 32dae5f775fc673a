import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from '../support/http/error-response.ts';
import { between, pick, randomFrom, seedOf, shuffled } from '../support/random.ts';
import { idMaker } from '../support/storage/hard-ids.ts';
import { byIdBytes, fill, type Item, items } from '../support/tables/filled-tables.ts';
import { newTable, startSharedService } from '../support/tables/shared-service.ts';

const service = await startSharedService();

test('returns a page of the items whose ids begin with a text, in exactly these words', async () => {
  const table = newTable();
  const all = ['a', 'ab', 'abc', 'b'].map((id) => ({ id, name: '' }));
  await fill(service, table, all);
  const text = async (query: string) => (await service.get(`${table}/read?${query}`)).text;
  const [a, ab, abc] = all.map((item) => JSON.stringify(item));
  assert.equal(await text('prefix=a'), `{"statusCode":200,"body":[${a},${ab},${abc}]}`);
  assert.equal(await text('prefix=ab&limit=1'), `{"statusCode":200,"body":[${ab}],"next":"ab"}`);
  assert.equal(await text('prefix=ab&limit=1&after=ab'), `{"statusCode":200,"body":[${abc}]}`);
  assert.equal(await text('prefix=ab&after=A'), `{"statusCode":200,"body":[${ab},${abc}]}`);
  assert.equal(await text('prefix=a&after=b'), '{"statusCode":200,"body":[]}');
  assert.equal(await text('prefix=x'), '{"statusCode":200,"body":[]}');
});

test('finds by every prefix exactly the items that a full read has, page by page', async (t) => {
  const random = randomFrom(seedOf(t));
  const makeId = idMaker(random);
  const byId = new Map<string, Item>();
  while (byId.size < 200) {
    const id = makeId();
    if (id !== '') byId.set(id, { id, name: 'x'.repeat(between(random, 0, 400)) });
  }
  const table = newTable();
  const all = [...byId.values()].sort(byIdBytes);
  await fill(service, table, shuffled(random, all));
  for (let n = 0; n < 60; n++) {
    const characters = [...pick(random, all).id];
    const prefix = characters.slice(0, between(random, 1, characters.length)).join('');
    const expected = all.filter(({ id }) => Buffer.from(id).indexOf(prefix) === 0);
    assert.deepEqual(await walk(table, prefix, between(random, 1, 50)), expected, JSON.stringify(prefix));
  }
});

test('rejects a prefix with id, an empty one and one that is too long; a missing table is 404', async () => {
  const table = newTable();
  const invalid = { status: 400, code: 'invalid_request' };
  assertError(await service.get(`${table}/read?prefix=a`), { status: 404, code: 'table_not_found' });
  await fill(service, table, items(1, 0));
  assertError(await service.get(`${table}/read?prefix=`), { ...invalid, param: 'prefix' });
  assertError(await service.get(`${table}/read?prefix=${'x'.repeat(1_025)}`), {
    ...invalid,
    param: 'prefix',
  });
  assertError(await service.get(`${table}/read?prefix=a&id=a`), { ...invalid, param: 'id' });
});

test('counts the items of a table, before and after writes', async () => {
  const table = newTable();
  const count = async () => (await service.get(`${table}/read?count=true`)).text;
  assertError(await service.get(`${table}/read?count=true`), { status: 404, code: 'table_not_found' });
  await fill(service, table, items(250, 10));
  assert.equal(await count(), '{"statusCode":200,"body":{"count":250}}');
  await service.send('DELETE', `${table}/delete`, { id: items(1, 0)[0]?.id });
  assert.equal(await count(), '{"statusCode":200,"body":{"count":249}}');
  const invalid = { status: 400, code: 'invalid_request', param: 'count' };
  for (const query of [
    'count=false',
    'count=',
    'count=true&limit=1',
    'count=true&id=a',
    'count=true&prefix=a',
  ]) {
    assertError(await service.get(`${table}/read?${query}`), invalid);
  }
});

async function walk(table: string, prefix: string, limit: number): Promise<Item[]> {
  const found: Item[] = [];
  let after = '';
  do {
    const query = `prefix=${encodeURIComponent(prefix)}&limit=${limit}${after}`;
    const { json } = await service.get(`${table}/read?${query}`);
    found.push(...json.body);
    after = json.next === undefined ? '' : `&after=${encodeURIComponent(json.next)}`;
  } while (after !== '');
  return found;
}
