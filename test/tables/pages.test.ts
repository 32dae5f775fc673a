import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageBytesMax } from '../../src/tables/page.ts';
import { itemBytesMax } from '../../src/tables/table-item.ts';
import { between, randomFrom, seedOf, shuffled } from '../support/random.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { hardCharacters, idMaker } from '../support/storage/hard-ids.ts';
import { byIdBytes, fill, type Item, items } from '../support/tables/filled-tables.ts';
import { newTable, startSharedService } from '../support/tables/shared-service.ts';

const service = await startSharedService();

test('reads a table page by page, in exactly these words', async () => {
  const table = newTable();
  const all = ['a', 'b', 'c'].map((id) => ({ id, name: id.toUpperCase() }));
  await fill(service, table, all);
  const text = async (query: string) => (await service.get(`${table}/read?${query}`)).text;
  const [a, b, c] = all.map((item) => JSON.stringify(item));
  assert.equal(await text('limit=2'), `{"statusCode":200,"body":[${a},${b}],"next":"b"}`);
  assert.equal(await text('limit=2&after=b'), `{"statusCode":200,"body":[${c}]}`);
  assert.equal(await text('limit=1&after=a'), `{"statusCode":200,"body":[${b}],"next":"b"}`);
  assert.equal(await text('after=a'), `{"statusCode":200,"body":[${b},${c}]}`);
  assert.equal(await text('limit=3'), `{"statusCode":200,"body":[${a},${b},${c}]}`);
  assert.equal(await text('limit=1000'), `{"statusCode":200,"body":[${a},${b},${c}]}`);
  assert.equal(await text('after=c'), '{"statusCode":200,"body":[]}');
  assert.equal(await text('after=zz&limit=1'), '{"statusCode":200,"body":[]}');
});

test('continues after an id that does not exist, or no longer exists', async () => {
  const table = newTable();
  await fill(
    service,
    table,
    ['b', 'd', 'f'].map((id) => ({ id, name: '' })),
  );
  for (const [after, expected] of [
    ['a', 'bdf'],
    ['%00', 'bdf'],
    ['b%00', 'df'],
    ['bb', 'df'],
    ['e', 'f'],
    ['f%00', ''],
    ['%F4%8F%BF%BF', ''],
  ] as const) {
    assert.equal(idsOf(await service.get(`${table}/read?after=${after}`)), expected, after);
  }
  await service.send('DELETE', `${table}/delete`, { id: 'd' });
  assert.equal(idsOf(await service.get(`${table}/read?after=d&limit=5`)), 'f');
});

test('distinguishes an empty page from a missing table', async (t) => {
  const service = await startTestService(t, {
    env: { COUNTERFOIL_TABLES: 'declared', COUNTERFOIL_DECLARED_TABLES: 'books' },
  });
  const table = '/v3/table/books';
  assert.equal((await service.get(`${table}/read?limit=5`)).text, '{"statusCode":200,"body":[]}');
  assert.equal((await service.get(`${table}/read?after=a`)).text, '{"statusCode":200,"body":[]}');
  const missing = await service.get('/v3/table/films/read?limit=5');
  assert.equal(missing.json.body.error.code, 'table_not_found');
});

test('returns page by page exactly the items of a full read, from small ones to 400 KB', async (t) => {
  const random = randomFrom(seedOf(t));
  const table = newTable();
  const makeId = idMaker(random);
  const byId = new Map<string, Item>();
  while (byId.size < 150) {
    const id = makeId();
    if (id !== '') byId.set(id, { id, name: hardCharacters.join('').repeat(between(random, 0, 20)) });
  }
  const sizes = [
    ...Array<number>(4).fill(itemBytesMax),
    ...Array<number>(6).fill(90_000),
    65_000,
    65_536,
    8_168,
  ];
  for (const [index, id] of shuffled(random, [...byId.keys()])
    .slice(0, sizes.length)
    .entries()) {
    const bytes = (sizes[index] as number) - Buffer.byteLength(id);
    byId.set(id, { id, name: index % 2 === 0 ? 'x'.repeat(bytes) : 'é'.repeat(bytes >> 1) });
  }
  await fill(service, table, shuffled(random, [...byId.values()]));
  // Some are written again, so that a part comes from the journal and a part from the leaves.
  for (const { id, name } of shuffled(random, [...byId.values()]).slice(0, 30)) {
    if (name.length > 1_000) continue;
    byId.set(id, { id, name: `${name}!` });
    await service.send('PUT', `${table}/update`, byId.get(id));
  }
  const expected = [...byId.values()].sort(byIdBytes);
  assert.deepEqual((await service.get(`${table}/read`)).json.body, expected);
  for (const limit of [1, 7, 149, 150, 151, 1_000, undefined]) {
    await t.test(`pages of ${limit ?? 'the default size'}`, async () => {
      assert.deepEqual(await walk(table, limit), expected);
    });
  }
});

test('orders ids by their UTF-8 bytes, even if their UTF-16 order differs', async () => {
  const table = newTable();
  const ids = ['\u007f', '\u0080', '\u07ff', '\u0800', '\ud7ff', '\ue000', '\uffee', '\uffff', '\u{10000}'];
  ids.push('\u{1f600}', '\u{10ffff}');
  const doubled = ids.flatMap((id) => [id, `${id}a`, `${id}\u{10000}`]);
  const all = doubled.map((id) => ({ id, name: id })).sort(byIdBytes);
  assert.notDeepEqual(
    all.map(({ id }) => id),
    all.map(({ id }) => id).toSorted(),
    'the two orders differ',
  );
  await fill(service, table, shuffled(Math.random, all));
  assert.deepEqual((await service.get(`${table}/read`)).json.body, all);
  assert.deepEqual(await walk(table, 1), all);
  for (const [index, { id }] of all.entries()) {
    const { json } = await service.get(`${table}/read?after=${encodeURIComponent(id)}`);
    assert.deepEqual(json.body, all.slice(index + 1));
  }
});

test('ends a page after the item that brings it to 1 MiB, and returns next', async () => {
  const table = newTable();
  const large = items(7, itemBytesMax - 20);
  await fill(service, table, large);
  const page = async (query: string) => {
    const { json } = await service.get(`${table}/read?${query}`);
    return { ids: json.body.map((item: Item) => item.id), next: json.next };
  };
  const ids = large.map(({ id }) => id);
  assert.deepEqual(await page('limit=1000'), { ids: ids.slice(0, 3), next: ids[2] });
  assert.deepEqual(await page(`after=${ids[2]}`), { ids: ids.slice(3, 6), next: ids[5] });
  assert.deepEqual(await page(`after=${ids[3]}`), { ids: ids.slice(4), next: undefined });
  assert.deepEqual(await page(`after=${ids[5]}&limit=1`), { ids: ids.slice(6), next: undefined });
});

test('returns every item once to a caller who reads all pages during writes', async (t) => {
  const random = randomFrom(seedOf(t));
  const table = newTable();
  const [staying, coming] = [0, 1].map((rest) =>
    items(300, 200).filter((_item, index) => index % 2 === rest),
  ) as [Item[], Item[]];
  await fill(service, table, staying);
  let isOver = false;
  const writing = (async () => {
    while (!isOver) {
      const some = shuffled(random, coming).slice(0, 50);
      await fill(service, table, some);
      await service.post(`${table}/batch`, { writes: some.map(({ id }) => ({ delete: { id } })) });
    }
  })();
  const stays = new Set(staying.map(({ id }) => id));
  for (const limit of [5, 100]) {
    const seen = await walk(table, limit);
    assert.deepEqual(
      seen.filter(({ id }) => stays.has(id)),
      staying,
    );
    assert.deepEqual(seen, seen.toSorted(byIdBytes));
    assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length);
  }
  isOver = true;
  await writing;
});

/** Follows `next` to the end, and checks the size of every page. */
async function walk(table: string, limit: number | undefined): Promise<Item[]> {
  const all: Item[] = [];
  const size = limit === undefined ? '' : `limit=${limit}`;
  // Without `limit` and `after` the request would be a full read.
  let query = size === '' ? 'limit=1000' : size;
  for (;;) {
    const { status, json, text } = await service.get(`${table}/read?${query}`);
    assert.equal(status, 200, text.slice(0, 300));
    const body = json.body as Item[];
    all.push(...body);
    const before = body.slice(0, -1).reduce((sum, item) => sum + bytesOf(item), 0);
    assert.ok(body.length <= (limit ?? 1_000) && before < pageBytesMax, 'a page is bounded');
    if (!('next' in json)) return all;
    assert.equal(json.next, body.at(-1)?.id, 'next is the id of the last item');
    const isFull = body.length === (limit ?? 1_000) || before + bytesOf(body.at(-1) as Item) >= pageBytesMax;
    assert.ok(isFull, 'a page that is not the last is full');
    query = [size, `after=${encodeURIComponent(json.next)}`].filter(Boolean).join('&');
  }
}

function bytesOf({ id, name }: Item): number {
  return Buffer.byteLength(id) + Buffer.byteLength(name);
}

function idsOf(response: Awaited<ReturnType<TestService['get']>>): string {
  return response.json.body.map(({ id }: Item) => id).join('');
}
