import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type BodyOperation,
  bodyOperations,
  create,
  integration,
  payment,
  update,
} from '../support/http/documented-operations.ts';
import { assertError, type ErrorResponse, type ExpectedError } from '../support/http/error-response.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { startTestService, type TestService } from '../support/service.ts';

interface Failure {
  readonly what: string;
  readonly operation: BodyOperation;
  readonly path?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly expected: ExpectedError;
}

/** Requests that every operation rejects before it processes them. */
const invalidRequests: readonly Failure[] = bodyOperations.flatMap((operation) => [
  {
    what: 'malformed JSON',
    operation,
    body: '{"id":',
    expected: { status: 400, code: 'malformed_json' },
  },
  {
    what: 'invalid UTF-8',
    operation,
    body: Buffer.from([0x22, 0xff, 0x22]),
    expected: { status: 400, code: 'malformed_json' },
  },
  {
    what: 'the same field twice',
    operation,
    body: '{"id":"a","id":"b"}',
    expected: { status: 400, code: 'invalid_request' },
  },
  { what: 'missing fields', operation, body: {}, expected: { status: 400, code: 'invalid_request' } },
  {
    what: 'a body that is not an object',
    operation,
    body: [],
    expected: { status: 400, code: 'invalid_request' },
  },
  {
    what: 'an unknown field',
    operation,
    body: { ...operation.body, extra: 'x' },
    expected: { status: 400, code: 'invalid_request', param: 'extra' },
  },
  {
    what: 'a query parameter',
    operation,
    path: `${operation.path}?extra=1`,
    expected: { status: 400, code: 'invalid_request', param: 'extra' },
  },
  {
    what: 'another content type',
    operation,
    headers: { 'content-type': 'text/plain' },
    expected: { status: 415, code: 'unsupported_media_type' },
  },
  {
    what: 'a body that is too large',
    operation,
    body: ' '.repeat(2 ** 20 + 1),
    expected: { status: 413, code: 'body_too_large' },
  },
  {
    what: 'a caller behind a proxy',
    operation,
    headers: { 'x-forwarded-for': '192.0.2.1' },
    expected: { status: 401, code: 'unauthenticated' },
  },
]);

const charged = (token: string) => ({ ...payment.body, token });
const failures: readonly Failure[] = [
  {
    what: 'a table name with a character that is not allowed',
    operation: create,
    path: '/v3/table/a:b/create',
    expected: { status: 400, code: 'invalid_request', param: 'TABLE_NAME' },
  },
  {
    what: 'an id that is taken',
    operation: create,
    expected: { status: 409, code: 'item_exists', param: 'id' },
  },
  {
    what: 'no such table',
    operation: update,
    path: '/v3/table/nothing/update',
    expected: { status: 404, code: 'table_not_found', param: 'TABLE_NAME' },
  },
  {
    what: 'no such item',
    operation: update,
    body: { id: 'nothing', name: 'n' },
    expected: { status: 404, code: 'item_not_found', param: 'id' },
  },
  {
    what: 'no such processor',
    operation: payment,
    path: '/stage/payment/nothing/charge',
    expected: { status: 404, code: 'processor_not_found' },
  },
  {
    what: 'a processor without a key',
    operation: payment,
    path: '/stage/payment/stripe/charge',
    expected: { status: 503, code: 'processor_not_configured' },
  },
  {
    what: 'no such route',
    operation: payment,
    path: '/stage/payment/simulated/nothing',
    expected: { status: 404, code: 'route_not_found' },
  },
  {
    what: 'an amount out of bounds',
    operation: payment,
    body: { ...payment.body, amount: 0 },
    expected: { status: 400, code: 'invalid_request', param: 'amount' },
  },
  {
    what: 'a declined card',
    operation: payment,
    body: charged('tok_insufficient_funds'),
    expected: { status: 402, code: 'card_declined', param: 'token' },
  },
  {
    what: 'a card that requires authentication',
    operation: payment,
    body: charged('tok_authentication_required'),
    expected: { status: 402, code: 'authentication_required' },
  },
  {
    what: 'a token the processor does not know',
    operation: payment,
    body: charged('tok_nothing'),
    expected: { status: 400, code: 'invalid_request', param: 'token' },
  },
  {
    what: 'a processor that fails',
    operation: payment,
    body: charged('tok_processor_error'),
    expected: { status: 502, code: 'processor_error' },
  },
  {
    what: 'a reply of the processor that is lost',
    operation: payment,
    body: charged('tok_lost_reply'),
    expected: { status: 504, code: 'payment_outcome_unknown' },
  },
  {
    what: 'an integration name with a character that is not allowed',
    operation: integration,
    path: '/v3/create/service/auth/google/Shop',
    expected: { status: 400, code: 'invalid_request', param: 'INTEGRATION_NAME' },
  },
  {
    what: 'no such provider',
    operation: integration,
    path: '/v3/create/service/auth/nothing/shop',
    expected: { status: 404, code: 'provider_not_found' },
  },
  {
    what: 'a name that has other credentials',
    operation: integration,
    body: { ...integration.body, IDP_CLIENT_SECRET: 'secret-2' },
    expected: { status: 409, code: 'integration_exists', param: 'INTEGRATION_NAME' },
  },
];

test('the legacy error fields are correct when a request is rejected before it is processed', async (t) => {
  const service = await startTestService(t);
  for (const failure of invalidRequests) {
    await t.test(`${failure.operation.name}: ${failure.what}`, () =>
      assertLegacyErrorFields(service, failure),
    );
  }
});

test('the legacy error fields are correct when an operation fails', async (t) => {
  const service = await startTestService(t);
  for (const operation of [create, integration]) {
    const done = await service.send(operation.method, operation.path, operation.body);
    assert.equal(done.status, 200);
  }
  for (const failure of failures) {
    await t.test(`${failure.operation.name}: ${failure.what}`, () =>
      assertLegacyErrorFields(service, failure),
    );
  }
});

test('the legacy error fields are correct when the path cannot be decoded', async (t) => {
  const { origin } = await startTestService(t);
  const json = { 'Content-Type': 'application/json' };
  for (const operation of bodyOperations) {
    for (const path of undecodablePaths(operation)) {
      await t.test(`${operation.name}: ${path.slice(0, 60)}`, async () => {
        const line = `${operation.method} ${path}`;
        const response = await exchange(
          origin,
          requestText(origin, line, json, JSON.stringify(operation.body)),
        );
        assertFields(operation, response, { status: 400, code: 'invalid_request' });
      });
    }
  }
});

/** Paths of the operation with a name that is not UTF-8 or, where the caller chooses it, too long. */
function undecodablePaths({ name, path }: BodyOperation): readonly string[] {
  if (name === 'payment') return [path.replace('simulated', '%ff')];
  return ['%ff', 'a'.repeat(800)].map((text) => path.replace(/books|shop/, text));
}

async function assertLegacyErrorFields(service: TestService, failure: Failure): Promise<void> {
  const { operation, path = operation.path, body = operation.body, headers, expected } = failure;
  assertFields(operation, await service.send(operation.method, path, body, headers), expected);
}

function assertFields({ onFailure }: BodyOperation, response: ErrorResponse, expected: ExpectedError): void {
  assertError(response, expected);
  const { error, ...documented } = response.json.body;
  assert.deepEqual(documented, onFailure(error.message));
}
