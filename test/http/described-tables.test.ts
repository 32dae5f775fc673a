import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { startTestService } from '../support/service.ts';

interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  readonly operation: 'read' | 'update' | 'delete' | 'batch';
  readonly query?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
}

const batchOf = (...writes: object[]) => ({ writes });

/** Requests to the other operations on tables, with their statuses. */
const operations: readonly Operation[] = [
  { method: 'get', operation: 'read', query: '?id=a', status: 200 },
  { method: 'get', operation: 'read', query: '?limit=1', status: 200 },
  { method: 'get', operation: 'read', query: '?after=z', status: 200 },
  { method: 'get', operation: 'read', query: '?limit=0', status: 400 },
  { method: 'get', operation: 'read', query: '?id=none', status: 404 },
  {
    method: 'put',
    operation: 'update',
    body: { id: 'a', name: 'x' },
    headers: { 'if-match': '"x"' },
    status: 412,
  },
  {
    method: 'put',
    operation: 'update',
    body: { id: 'a', name: 'x' },
    headers: { 'if-match': 'x' },
    status: 400,
  },
  { method: 'post', operation: 'batch', body: batchOf({ create: { id: 'c', name: '' } }), status: 200 },
  { method: 'post', operation: 'batch', body: batchOf({ create: { id: 'a', name: '' } }), status: 409 },
  { method: 'post', operation: 'batch', body: batchOf({ delete: { id: 'none' } }), status: 404 },
  { method: 'post', operation: 'batch', body: batchOf(), status: 400 },
  { method: 'delete', operation: 'delete', body: { id: 'a' }, headers: { 'if-match': '"x"' }, status: 412 },
  { method: 'delete', operation: 'delete', body: { id: 'a' }, status: 200 },
  { method: 'delete', operation: 'delete', body: { id: 'a' }, status: 404 },
  { method: 'delete', operation: 'delete', body: {}, status: 400 },
];

test('every operation on tables responds as the OpenAPI document describes', async (t) => {
  const service = await startTestService(t);
  await service.post('/v3/table/books/create', { id: 'a', name: 'Alpha' });
  await service.post('/v3/table/books/create', { id: 'b', name: 'Beta' });
  const document = (await service.get('/openapi.json')).json;
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema(document, 'document');
  for (const { method, operation, query = '', body, headers, status } of operations) {
    await t.test(`${method} ${operation}${query}: ${status}`, async () => {
      const path = `/v3/table/books/${operation}${query}`;
      const response = await service.send(method.toUpperCase(), path, body, headers);
      assert.equal(response.status, status, response.text);
      const described = document.paths[`/v3/table/{TABLE_NAME}/${operation}`]?.[method];
      assert.ok(described, 'the operation is described');
      const key = status === 200 ? '200' : '4XX';
      assert.ok(described.responses[key]?.content['application/json'], `its ${key} is described`);
      const steps = ['paths', `/v3/table/{TABLE_NAME}/${operation}`, method, 'responses', key];
      steps.push('content', 'application/json', 'schema');
      const pointer = steps.map((step) =>
        encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')),
      );
      const validate = ajv.getSchema(`document#/${pointer.join('/')}`);
      assert.ok(validate?.(response.json), `${response.text}: ${ajv.errorsText(validate?.errors)}`);
    });
  }
});

test('the OpenAPI document lists the parameters of read, update and delete', async (t) => {
  const service = await startTestService(t);
  const { paths } = (await service.get('/openapi.json')).json;
  const parametersOf = (method: string, operation: string, place: string) =>
    (paths[`/v3/table/{TABLE_NAME}/${operation}`][method].parameters ?? [])
      .filter((parameter: { in: string }) => parameter.in === place)
      .map(({ name, required = false }: { name: string; required?: boolean }) => `${name}: ${required}`)
      .sort();
  assert.deepEqual(parametersOf('get', 'read', 'query'), [
    'after: false',
    'id: false',
    'limit: false',
    'prefix: false',
  ]);
  assert.deepEqual(parametersOf('put', 'update', 'header'), ['if-match: false']);
  assert.deepEqual(parametersOf('delete', 'delete', 'header'), ['if-match: false']);
  for (const [method, operation] of [
    ['post', 'batch'],
    ['delete', 'delete'],
  ] as const) {
    const { requestBody } = paths[`/v3/table/{TABLE_NAME}/${operation}`][method];
    assert.equal(requestBody?.required, true, `the body of ${operation} is required`);
  }
});
