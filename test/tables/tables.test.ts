import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestService } from '../support/service.ts';

test('creates, updates and reads items as the document gives it, in exactly its words', async (t) => {
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
