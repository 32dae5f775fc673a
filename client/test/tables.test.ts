import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestService } from '../../test/support/service.ts';
import { fill, items } from '../../test/support/tables/filled-tables.ts';
import { Counterfoil, CounterfoilError } from '../src/index.ts';
import { startFaultyProxy } from './support/faulty-proxy.ts';

test('creates, reads, updates and deletes items', async (t) => {
  const { origin } = await startTestService(t);
  const books = new Counterfoil({ url: `${origin}/` }).table('books');
  await books.create({ id: 'emma', name: 'Austen' });
  await books.create({ id: 'a b/ü?&#"\\', name: '\u2028 {"[}]\\' });
  const emma = await books.get('emma');
  assert.equal(emma?.name, 'Austen');
  assert.equal(await books.get('nothing'), undefined);
  await books.update({ id: 'emma', name: 'Jane Austen' }, { ifMatch: emma.etag });
  await assert.rejects(books.update({ id: 'emma', name: 'J.' }, { ifMatch: emma.etag }), {
    code: 'precondition_failed',
  });
  const all = [
    { id: 'a b/ü?&#"\\', name: '\u2028 {"[}]\\' },
    { id: 'emma', name: 'Jane Austen' },
  ];
  assert.deepEqual(await books.all(), all);
  assert.deepEqual(await Array.fromAsync(books.all()), all);
  assert.equal((await books.get('a b/ü?&#"\\'))?.name, '\u2028 {"[}]\\');
  await assert.rejects(books.delete('emma', { ifMatch: emma.etag }), { code: 'precondition_failed' });
  await books.delete('emma');
  await assert.rejects(books.delete('emma'), { code: 'item_not_found' });
});

test('puts, counts, lists and drops, and reads by prefix', async (t) => {
  const { origin } = await startTestService(t);
  const counterfoil = new Counterfoil({ url: origin });
  const books = counterfoil.table('books');
  await books.put({ id: 'emma', name: 'Austen' });
  await books.put({ id: 'emma', name: 'Jane Austen' });
  await assert.rejects(books.put({ id: 'emma', name: '' }, { ifNew: true }), { code: 'precondition_failed' });
  await books.put({ id: 'emil', name: 'Kästner' }, { ifNew: true });
  await books.put({ id: 'ulysses', name: 'Joyce' });
  assert.equal(await books.count(), 3);
  const pages = await Array.fromAsync(books.pages({ prefix: 'em', limit: 1 }));
  assert.deepEqual(pages.flat(), [
    { id: 'emil', name: 'Kästner' },
    { id: 'emma', name: 'Jane Austen' },
  ]);
  await counterfoil.table('films').put({ id: 'a', name: '' });
  const tables = (await Array.fromAsync(counterfoil.tables({ limit: 1 }))).flat();
  assert.deepEqual(
    tables.map(({ name, count }) => [name, count]),
    [
      ['books', 3],
      ['films', 1],
    ],
  );
  await books.drop();
  await assert.rejects(books.count(), { code: 'table_not_found' });
});

test('writes a batch whole or not at all, and names the write at fault', async (t) => {
  const { origin } = await startTestService(t);
  const table = new Counterfoil({ url: origin }).table('books');
  await table.batch([{ create: { id: 'a', name: '1' } }, { create: { id: 'b', name: '2' } }]);
  const failing = table.batch([{ update: { id: 'a', name: '3' } }, { delete: { id: 'nothing' } }]);
  await assert.rejects(failing, { code: 'item_not_found', param: 'writes.1.id' });
  assert.deepEqual(await table.all(), [
    { id: 'a', name: '1' },
    { id: 'b', name: '2' },
  ]);
});

test('reads pages', async (t) => {
  const service = await startTestService(t);
  const stored = items(25, 5);
  await fill(service, '/v3/table/numbers', stored);
  const pages = await Array.fromAsync(
    new Counterfoil({ url: service.origin }).table('numbers').pages({ limit: 10 }),
  );
  assert.deepEqual(
    pages.map(({ length }) => length),
    [10, 10, 5],
  );
  assert.deepEqual(pages.flat(), await new Counterfoil({ url: service.origin }).table('numbers').all());
});

test('rejects a table name that a URL would lose', async (t) => {
  const { origin } = await startTestService(t);
  for (const name of ['', '.', '..'])
    assert.throws(() => new Counterfoil({ url: origin }).table(name), { code: 'invalid_request' });
});

test('a loop over items can stop early, by itself and by its signal', async (t) => {
  const service = await startTestService(t);
  await fill(service, '/v3/table/large', items(2_000, 500));
  const large = new Counterfoil({ url: service.origin }).table('large');
  let seen = 0;
  for await (const _ of large.all()) if (++seen === 10) break;
  assert.equal(seen, 10);
  const controller = new AbortController();
  await assert.rejects(
    async () => {
      for await (const _ of large.all({ signal: controller.signal })) controller.abort();
    },
    { code: 'aborted' },
  );
});

test('a read that breaks in the middle throws, and never ends with fewer items', async (t) => {
  const service = await startTestService(t);
  await fill(service, '/v3/table/large', items(2_000, 100));
  const proxy = await startFaultyProxy(t, service.origin);
  const large = new Counterfoil({ url: proxy.url }).table('large');
  proxy.next = () => 'truncate';
  await assert.rejects(Array.fromAsync(large.all()), { code: 'network_error' });
  // A read without a reader of single items is repeated.
  let reads = 0;
  proxy.next = () => (reads++ === 0 ? 'truncate' : 'pass');
  assert.equal((await large.all()).length, 2_000);
  assert.equal(reads, 2);
});

test('a response that ends early, at any byte, is an error', async () => {
  const text = '{"statusCode":200,"body":[{"id":"a","name":"ü\\"]}"},{"id":"b","name":"\\\\"}]}';
  const bytes = new TextEncoder().encode(text);
  const reading = (length: number, chunkBytes: number) => {
    const chunks = function* () {
      for (let at = 0; at < length; at += chunkBytes)
        yield bytes.slice(at, Math.min(length, at + chunkBytes));
    };
    const fetch = async () => new Response(ReadableStream.from(chunks()) as ReadableStream);
    return Array.fromAsync(new Counterfoil({ url: 'http://localhost', fetch }).table('t').all());
  };
  for (let chunkBytes = 1; chunkBytes <= bytes.length; chunkBytes++) {
    assert.deepEqual(await reading(bytes.length, chunkBytes), JSON.parse(text).body);
    await assert.rejects(reading(bytes.length - 1, chunkBytes), CounterfoilError);
  }
  for (let length = 0; length < bytes.length; length++)
    await assert.rejects(reading(length, 7), CounterfoilError);
});

test('a write whose response was lost is not repeated', async (t) => {
  const service = await startTestService(t);
  const proxy = await startFaultyProxy(t, service.origin);
  const table = new Counterfoil({ url: proxy.url }).table('t');
  let requests = 0;
  proxy.next = () => {
    requests++;
    return 'lose';
  };
  await assert.rejects(table.create({ id: 'a', name: '1' }), { code: 'network_error', retryable: true });
  assert.equal(requests, 1);
  proxy.next = () => 'pass';
  assert.equal((await table.get('a'))?.name, '1');
});
