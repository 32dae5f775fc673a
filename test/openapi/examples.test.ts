import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OpenApiDocument, operationsOf, type Placed } from '../support/openapi/document.ts';
import { startTestService } from '../support/service.ts';

/** In an order in which each finds what it needs. */
const inOrder = [
  'createItem',
  'updateItem',
  'writeBatch',
  'readTable',
  'deleteItem',
  'createPayment',
  'getPayment',
  'refundPayment',
  'listPayments',
  'createIntegration',
  'replaceIntegration',
  'getIntegration',
  'listIntegrationsOfProvider',
  'deleteIntegration',
];
/** Sent in some of the responses only. */
const occasional = ['Idempotent-Replayed', 'Payment-Client-Secret', 'Read-Consistency', 'Retry-After'];

test('has examples that work as they stand, and headers that responses carry', async (t) => {
  const service = await startTestService(t);
  const document: OpenApiDocument = (await service.get('/openapi.json')).json;
  const operations = new Map(operationsOf(document).map((each) => [each.operationId, each]));
  let made: Record<string, string> = {};
  for (const id of inOrder) {
    const operation = operations.get(id);
    assert.ok(operation, id);
    const { path, body } = exampleOf(operation, made);
    const { status, text, headers } = await service.send(operation.method.toUpperCase(), path, body);
    assert.equal(status, 200, `${id}: ${text}`);
    for (const name of Object.keys(operation.responses['200']?.headers ?? {})) {
      if (!occasional.includes(name)) assert.ok(headers.has(name), `${id}: ${name}`);
    }
    const paymentId = headers.get('payment-id');
    if (paymentId !== null) made = { payment_id: paymentId };
  }
});

test('has an example for every body in JSON that needs one', async (t) => {
  const service = await startTestService(t);
  const document: OpenApiDocument = (await service.get('/openapi.json')).json;
  const without = operationsOf(document)
    .filter(({ requestBody }) => requestBody?.content['application/json'] !== undefined)
    .filter(({ requestBody }) => requestBody?.content['application/json']?.example === undefined);
  assert.deepEqual(
    without.map(({ operationId }) => operationId),
    ['cancelPayment', 'makeBackup'],
  );
});

/** The request that the examples of an operation make. @param made values that only a running service knows */
function exampleOf(operation: Placed, made: Readonly<Record<string, string>>) {
  const { parameters = [], requestBody } = operation;
  const path = parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce(
      (filled, { name, example = '' }) => filled.replace(`{${name}}`, made[name] ?? example),
      operation.path,
    );
  return { path, body: requestBody?.content['application/json']?.example };
}
