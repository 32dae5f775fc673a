import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from '../support/http/error-response.ts';
import { startTestService } from '../support/service.ts';
import { fill, type Item, items } from '../support/tables/filled-tables.ts';
import { newTable, startSharedService } from '../support/tables/shared-service.ts';

const service = await startSharedService();
const books = [
  { id: 'a', name: 'Alpha' },
  { id: 'b', name: 'Beta' },
  { id: 'c', name: 'Gamma' },
];
const written = '{"statusCode":200,"body":{"message":"Batch written"}}';

test('creates, updates and deletes with one batch, in exactly these words', async () => {
  const table = await tableOfBooks();
  const writes = [
    { delete: { id: 'b' } },
    { create: { id: 'd', name: 'Delta' } },
    { update: { id: 'a', name: '' } },
    { create: { id: 'A', name: '"\\\n\0🔑' } },
  ];
  const batch = await service.post(`${table}/batch`, { writes });
  assert.equal(batch.text, written);
  assert.equal(batch.headers.get('content-type'), 'application/json');
  assert.deepEqual(await itemsOf(table), [
    { id: 'A', name: '"\\\n\0🔑' },
    { id: 'a', name: '' },
    { id: 'c', name: 'Gamma' },
    { id: 'd', name: 'Delta' },
  ]);
});

test('accepts batches of 1 to 100 writes', async () => {
  for (const count of [1, 2, 99, 100]) {
    const all = items(count, 20);
    const table = newTable();
    const creates = all.map((create) => ({ create }));
    assert.equal((await service.post(`${table}/batch`, { writes: creates })).text, written);
    assert.deepEqual((await service.get(`${table}/read`)).json.body, all);
    const deletes = all.map(({ id }) => ({ delete: { id } }));
    assert.equal((await service.post(`${table}/batch`, { writes: deletes })).text, written);
    assert.equal((await service.get(`${table}/read`)).text, '{"statusCode":200,"body":[]}');
  }
});

test('writes nothing of a batch if one write is rejected, at any position, and names that write', async () => {
  const table = await tableOfBooks();
  const before = await service.get(`${table}/read`);
  const rejectedWrites = [
    { write: { create: { id: 'a', name: '' } }, status: 409, code: 'item_exists' },
    { write: { update: { id: 'x', name: '' } }, status: 404, code: 'item_not_found' },
    { write: { delete: { id: 'x' } }, status: 404, code: 'item_not_found' },
  ];
  const good = [
    ...items(97, 10).map((create) => ({ create })),
    { update: { id: 'b', name: 'changed' } },
    { delete: { id: 'c' } },
  ];
  for (const { write, status, code } of rejectedWrites) {
    for (const at of [0, 1, 50, 99]) {
      const writes = good.toSpliced(at, 0, write);
      const rejected = await service.post(`${table}/batch`, { writes });
      assertError(rejected, { status, code, param: `writes.${at}.id` });
      assert.deepEqual(Object.keys(rejected.json.body), ['message', 'error']);
      assert.equal(rejected.json.body.message, rejected.json.body.error.message);
      assert.match(rejected.json.body.message, new RegExp(`\\b${at}\\b`), 'the message names the write too');
      const after = await service.get(`${table}/read`);
      assert.equal(after.text, before.text);
      assert.equal(after.headers.get('etag'), before.headers.get('etag'));
    }
  }
  assert.equal((await service.post(`${table}/batch`, { writes: good })).text, written);
});

test('names the first of several writes that are rejected', async () => {
  const table = await tableOfBooks();
  const writes = [
    { update: { id: 'a', name: '' } },
    { delete: { id: 'x' } },
    { create: { id: 'b', name: '' } },
  ];
  assertError(await service.post(`${table}/batch`, { writes }), {
    status: 404,
    code: 'item_not_found',
    param: 'writes.1.id',
  });
});

test('rejects two writes of one item, of any kinds, and names the second', async () => {
  const table = await tableOfBooks();
  const before = await itemsOf(table);
  const kinds = (id: string) => [
    { create: { id, name: '1' } },
    { update: { id, name: '2' } },
    { delete: { id } },
  ];
  for (const id of ['a', 'new', '\u0000', '🔑']) {
    for (const first of kinds(id)) {
      for (const second of kinds(id)) {
        const writes = [{ create: { id: 'e', name: '' } }, first, { update: { id: 'b', name: '' } }, second];
        const rejected = await service.post(`${table}/batch`, { writes });
        assertError(rejected, { status: 400, code: 'invalid_request', param: 'writes.3.id' });
      }
    }
  }
  assert.deepEqual(await itemsOf(table), before);
  // Ids that only look alike are different ids.
  const alike = ['é', 'e\u0301', 'E', 'e', 'e ', 'e\0'].map((id) => ({ create: { id, name: '' } }));
  assert.equal((await service.post(`${table}/batch`, { writes: alike })).text, written);
});

test('creates an open table by its first batch, and not by a rejected one', async () => {
  const table = newTable();
  const noTable = { status: 404, code: 'table_not_found', param: 'TABLE_NAME' };
  for (const write of [{ update: { id: 'a', name: '' } }, { delete: { id: 'a' } }]) {
    assertError(await service.post(`${table}/batch`, { writes: [write] }), noTable);
    const mixed = await service.post(`${table}/batch`, {
      writes: [{ create: { id: 'b', name: '' } }, write],
    });
    assert.equal(mixed.status, 404);
    assertError(await service.get(`${table}/read`), noTable);
  }
  assert.equal(
    (await service.post(`${table}/batch`, { writes: [{ create: { id: 'a', name: '' } }] })).text,
    written,
  );
});

test('creates no undeclared table when tables are declared, and accepts batches for declared ones', async (t) => {
  const service = await startTestService(t, {
    env: { COUNTERFOIL_TABLES: 'declared', COUNTERFOIL_DECLARED_TABLES: 'books,films' },
  });
  const table = '/v3/table/books';
  const creates = { writes: items(3, 5).map((create) => ({ create })) };
  const noTable = { status: 404, code: 'table_not_found', param: 'TABLE_NAME' };
  assertError(await service.post('/v3/table/songs/batch', creates), noTable);
  assertError(await service.get('/v3/table/songs/read'), noTable);
  for (const write of [{ update: { id: 'a', name: '' } }, { delete: { id: 'a' } }]) {
    assertError(await service.post('/v3/table/songs/batch', { writes: [write] }), noTable);
    assertError(await service.post('/v3/table/films/batch', { writes: [write] }), {
      status: 404,
      code: 'item_not_found',
      param: 'writes.0.id',
    });
  }
  assert.equal((await service.post(`${table}/batch`, creates)).text, written);
  assert.equal((await service.get(`${table}/read`)).json.body.length, 3);
});

test('shows readers all writes of a batch or none', async () => {
  const table = newTable();
  const ids = items(100, 0).map(({ id }) => id);
  const all = (round: number) => ids.map((id) => ({ id, name: `${round}:${'x'.repeat(900)}` }));
  await fill(service, table, all(0));
  let isOver = false;
  const rounds = new Set<string>();
  const writing = (async () => {
    // Until there were reads between the batches, however busy the machine is.
    for (let round = 1; round <= 15 || (rounds.size < 3 && round < 1_000); round++) {
      await service.post(`${table}/batch`, { writes: all(round).map((update) => ({ update })) });
    }
    isOver = true;
  })();
  while (!isOver) {
    const names = new Set((await itemsOf(table)).map(({ name }) => name));
    assert.equal(names.size, 1, 'one read shows the items of two batches');
    for (const name of names) rounds.add(name);
  }
  await writing;
});

test('accepts one of many concurrent batches that create the same item, with all of its items', async () => {
  const table = newTable();
  const responses = await Promise.all(
    Array.from({ length: 24 }, (_, n) => {
      const own = items(10, 5).map(({ id }) => ({ create: { id: `${n}-${id}`, name: '' } }));
      return service.post(`${table}/batch`, {
        writes: own.toSpliced(n % 10, 0, { create: { id: 'same', name: `${n}` } }),
      });
    }),
  );
  const winners = responses.flatMap(({ status }, n) => (status === 200 ? [n] : []));
  assert.equal(winners.length, 1);
  assert.equal(responses.filter(({ status }) => status === 409).length, 23);
  const found = await itemsOf(table);
  assert.equal(found.length, 11);
  assert.equal(found.find(({ id }) => id === 'same')?.name, String(winners[0]));
  assert.ok(found.every(({ id }) => id === 'same' || id.startsWith(`${winners[0]}-`)));
});

test('still has an acknowledged batch after a restart', async (t) => {
  const first = await startTestService(t);
  const table = '/v3/table/books';
  await fill(first, table, books);
  const writes = [
    { delete: { id: 'a' } },
    { update: { id: 'b', name: '!' } },
    { create: { id: 'd', name: '' } },
  ];
  await first.post(`${table}/batch`, { writes });
  await first.stop();
  const second = await startTestService(t, { data: first.data });
  assert.deepEqual((await second.get(`${table}/read`)).json.body, [
    { id: 'b', name: '!' },
    { id: 'c', name: 'Gamma' },
    { id: 'd', name: '' },
  ]);
});

async function tableOfBooks(): Promise<string> {
  const table = newTable();
  await fill(service, table, books);
  return table;
}

async function itemsOf(table: string): Promise<Item[]> {
  return (await service.get(`${table}/read`)).json.body;
}
