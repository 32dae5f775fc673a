import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { startTestService } from '../support/service.ts';

test('creates, updates and reads items in exactly the words of the document', async (t) => {
  const service = await startTestService(t);
  const created = await service.post('/v3/table/books/create', { id: 'b', name: 'Beta' });
  assert.equal(created.text, '{"statusCode":200,"body":{"msg":"Item added to table","complete":true}}');
  await service.post('/v3/table/books/create', { id: 'a', name: 'Alpha' });
  const updated = await service.send('PUT', '/v3/table/books/update', { id: 'b', name: 'Gamma' });
  assert.equal(updated.text, '{"statusCode":200,"body":{"message":"Item updated"}}');
  const read = await service.get('/v3/table/books/read');
  assert.equal(read.text, '{"statusCode":200,"body":[{"id":"a","name":"Alpha"},{"id":"b","name":"Gamma"}]}');
  assert.equal(read.headers.get('content-type'), 'application/json');
});

test('rejects a create of an existing id, and changes nothing', async (t) => {
  const service = await startTestService(t);
  await service.post('/v3/table/books/create', { id: 'a', name: 'first' });
  const again = await service.post('/v3/table/books/create', { id: 'a', name: 'second' });
  assert.equal(again.status, 409);
  assert.equal(again.json.body.error.code, 'item_exists');
  const read = await service.get('/v3/table/books/read');
  assert.deepEqual(read.json.body, [{ id: 'a', name: 'first' }]);
});

test('rejects an update of a missing item or table, and creates nothing', async (t) => {
  const service = await startTestService(t);
  const update = () => service.send('PUT', '/v3/table/books/update', { id: 'x', name: 'X' });
  assert.equal((await update()).json.body.error.code, 'table_not_found');
  await service.post('/v3/table/books/create', { id: 'a', name: 'Alpha' });
  const rejected = await update();
  assert.equal(rejected.status, 404);
  assert.equal(rejected.json.body.error.code, 'item_not_found');
  assert.deepEqual((await service.get('/v3/table/books/read')).json.body, [{ id: 'a', name: 'Alpha' }]);
});

test('distinguishes a missing table from an empty one', async (t) => {
  const service = await startTestService(t, {
    env: { COUNTERFOIL_TABLES: 'declared', COUNTERFOIL_DECLARED_TABLES: 'books,films' },
  });
  assert.equal((await service.get('/v3/table/books/read')).text, '{"statusCode":200,"body":[]}');
  assert.equal((await service.get('/v3/table/songs/read')).json.body.error.code, 'table_not_found');
  const undeclared = await service.post('/v3/table/songs/create', { id: 'a', name: 'A' });
  assert.equal(undeclared.status, 404);
  assert.equal(undeclared.json.body.error.code, 'table_not_found');
  const missing = await service.send('PUT', '/v3/table/films/update', { id: 'a', name: 'A' });
  assert.equal(missing.json.body.error.code, 'item_not_found');
  assert.equal((await service.post('/v3/table/films/create', { id: 'a', name: 'A' })).status, 200);
  assert.deepEqual((await service.get('/v3/table/films/read')).json.body, [{ id: 'a', name: 'A' }]);
});

test('accepts one of 64 concurrent creates of an id, and rejects the others', async (t) => {
  const service = await startTestService(t);
  const callers = Array.from({ length: 64 }, (_, n) => String(n));
  const responses = await Promise.all(
    callers.map((name) => service.post('/v3/table/t/create', { id: 'a', name })),
  );
  const winners = callers.filter((_, n) => responses[n]?.status === 200);
  assert.equal(winners.length, 1);
  assert.equal(responses.filter(({ status }) => status === 409).length, 63);
  assert.deepEqual((await service.get('/v3/table/t/read')).json.body, [{ id: 'a', name: winners[0] }]);
});

test('still has acknowledged items after a restart', async (t) => {
  const first = await startTestService(t);
  await first.post('/v3/table/books/create', { id: 'a', name: 'Alpha' });
  await first.stop();
  const second = await startTestService(t, { data: first.data });
  assert.deepEqual((await second.get('/v3/table/books/read')).json.body, [{ id: 'a', name: 'Alpha' }]);
});

test('returns every string byte for byte, in the order of the ids', async (t) => {
  const service = await startTestService(t);
  const text = fc.string({ unit: 'binary', maxLength: 30 }).filter((value) => value.isWellFormed());
  const written = new Map<string, string>();
  await fc.assert(
    fc.asyncProperty(text, text, async (id, name) => {
      fc.pre(id !== '' && !written.has(id));
      const { status } = await service.post('/v3/table/strings/create', { id, name });
      assert.equal(status, 200);
      written.set(id, name);
    }),
    { numRuns: 150 },
  );
  const { json } = await service.get('/v3/table/strings/read');
  const expected = [...written]
    .map(([id, name]) => ({ id, name }))
    .sort((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)));
  assert.deepEqual(json.body, expected);
});

test('reads all of a table of many chunks', async (t) => {
  const service = await startTestService(t);
  const name = 'n'.repeat(30_000);
  const ids = Array.from({ length: 40 }, (_, n) => `item-${String(n).padStart(2, '0')}`);
  await Promise.all(ids.map((id) => service.post('/v3/table/large/create', { id, name })));
  const { json } = await service.get('/v3/table/large/read');
  assert.deepEqual(
    json.body,
    ids.map((id) => ({ id, name })),
  );
});

test("exposes none of the service's own spaces by a table name", async (t) => {
  const service = await startTestService(t);
  await service.post('/stage/payment/simulated/charge', { amount: 1, currency: 'eur', token: 'tok_paid' });
  for (const name of ['payments', 'service', 'service%3Apayments', 'service:payments', 'table:payments']) {
    const { status } = await service.get(`/v3/table/${name}/read`);
    assert.ok(status === 404 || status === 400, `${name} returned ${status}`);
    await service.post(`/v3/table/${name}/create`, { id: 'a', name: 'A' });
  }
  const { status } = await service.get('/readyz');
  assert.equal(status, 200);
});
