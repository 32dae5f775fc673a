import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { requestBodyBytesMax } from '../../src/http/server/app.ts';
import { Listener } from '../../src/http/server/listener.ts';
import { type BodyOperation, bodyOperations } from '../support/http/documented-operations.ts';
import { assertError, type ExpectedError } from '../support/http/error-response.ts';
import { exchange, RawConnection, requestText } from '../support/http/raw-http.ts';
import { startTestService } from '../support/service.ts';

const json = { 'Content-Type': 'application/json' };

test('returns 404 in the envelope for an unknown path and any body', async (t) => {
  const service = await startTestService(t);
  for (const path of ['//', '/nothing', '/v3/table', '/v3/table/books/read/', '/V3/table/books/read']) {
    for (const response of [await service.get(path), await service.post(path, '{')]) {
      assertError(response, { status: 404, code: 'route_not_found' });
      assert.equal(response.headers.get('request-id'), response.json.body.error.request_id);
    }
  }
});

test('returns 404 in the envelope for an unknown path below /docs', async (t) => {
  const service = await startTestService(t);
  for (const path of ['/docs/nothing', '/docs/static/nothing.js']) {
    assertError(await service.get(path), { status: 404, code: 'route_not_found' });
  }
});

test('returns 405 and the allowed methods for a wrong method on every route', async (t) => {
  const service = await startTestService(t);
  const documented = new Map([
    ['/v3/table/{TABLE_NAME}/read', 'GET, HEAD'],
    ['/v3/table/{TABLE_NAME}/create', 'POST'],
    ['/v3/table/{TABLE_NAME}/update', 'PUT'],
    ['/v3/create/service/auth/{identity_provider}/{INTEGRATION_NAME}', 'POST'],
    ['/stage/payment/{processor}/{route_id}', 'GET, HEAD, POST'],
    // A HEAD would start a sign-in, or finish one.
    ['/v3/auth/{identity_provider}/{INTEGRATION_NAME}/sign-in', 'GET'],
    ['/v3/auth/{identity_provider}/{INTEGRATION_NAME}/callback', 'GET'],
    // A HEAD would read the records of the processor.
    ['/v3/payments/reconciliation', 'GET'],
    ['/docs', 'GET, HEAD'],
    ['/openapi.json', 'GET, HEAD'],
  ]);
  const described = Object.entries<object>((await service.get('/openapi.json')).json.paths);
  for (const [path, operations] of described) {
    const taken = Object.keys(operations).map((method) => method.toUpperCase());
    const allow = [...taken, ...(taken.includes('GET') ? ['HEAD'] : [])].sort().join(', ');
    documented.set(path, documented.get(path) ?? allow);
  }
  assert.ok(documented.size >= 9, 'the OpenAPI document lists the operations');

  for (const [path, allow] of documented) {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      if (allow.split(', ').includes(method)) continue;
      const response = await service.send(method, path.replaceAll(/\{\w+\}/g, 'a'));
      assert.equal(response.headers.get('allow'), allow, `${method} ${path}`);
      if (method === 'HEAD') assert.equal(response.status, 405);
      else assertError(response, { status: 405, code: 'method_not_allowed' });
    }
  }
});

interface InvalidBody {
  readonly what: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: (good: string) => string | Buffer;
  readonly expected: ExpectedError;
}

const notJson: ExpectedError = { status: 415, code: 'unsupported_media_type', param: 'Content-Type' };
const malformed: ExpectedError = { status: 400, code: 'malformed_json' };
const invalidBodies: readonly InvalidBody[] = [
  { what: 'malformed JSON', headers: json, body: (good) => good.slice(0, -1), expected: malformed },
  { what: 'an empty body', headers: json, body: () => '', expected: malformed },
  { what: 'no content type', headers: {}, body: (good) => good, expected: notJson },
  ...[
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json5',
    'application/json; charset=latin1',
  ].map((type) => ({
    what: type,
    headers: { 'Content-Type': type },
    body: (good: string) => good,
    expected: notJson,
  })),
  {
    what: 'a compressed body',
    headers: { ...json, 'Content-Encoding': 'gzip' },
    body: (good) => gzipSync(good),
    expected: { status: 415, code: 'unsupported_media_type', param: 'Content-Encoding' },
  },
  {
    what: 'a body of 1 MiB and a byte',
    headers: json,
    body: (good) => good.padEnd(requestBodyBytesMax + 1),
    expected: { status: 413, code: 'body_too_large' },
  },
];

test('rejects a body that is not JSON in UTF-8 of at most 1 MiB, on every operation', async (t) => {
  const service = await startTestService(t);
  for (const operation of bodyOperations) {
    for (const { what, headers, body, expected } of invalidBodies) {
      await t.test(`${operation.name}: ${what}`, async () => {
        const bytes = Buffer.from(body(JSON.stringify(operation.body)));
        const response = await exchange(
          service.origin,
          requestBytes(service.origin, operation, headers, bytes),
        );
        assertError(response, expected);
        assert.equal(response.headers.get('request-id'), response.json.body.error.request_id);
      });
    }
  }
  assertError(await service.get('/v3/table/books/read'), { status: 404, code: 'table_not_found' });
});

test('accepts JSON of exactly 1 MiB, and its type in any case and with a charset', async (t) => {
  const service = await startTestService(t);
  const types = ['application/json', 'Application/JSON', 'application/json; charset=utf-8'];
  for (const [index, type] of types.entries()) {
    const good = JSON.stringify({ id: String(index), name: 'n' });
    const response = await exchange(
      service.origin,
      requestText(
        service.origin,
        'POST /v3/table/books/create',
        { 'Content-Type': type },
        good.padEnd(2 ** 20),
      ),
    );
    assert.equal(response.text, '{"statusCode":200,"body":{"msg":"Item added to table","complete":true}}');
  }
});

test('returns 400 for a path whose percent-encoding is not UTF-8', async (t) => {
  const { origin } = await startTestService(t);
  for (const path of ['/%ff', '/v3/table/%ff/read', '/v3/table/%zz/create', '/v3/table/a/read/%c3%28']) {
    const response = await exchange(origin, requestText(origin, `GET ${path}`));
    assertError(response, { status: 400, code: 'invalid_request' });
  }
});

test('returns 503 with Retry-After until the service has started, and 200 at /livez', async (t) => {
  const { origin } = await startListener(t);
  const connection = await RawConnection.open(origin);
  for (const line of ['GET /readyz', 'GET /v3/table/books/read', 'POST /stage/payment/simulated/charge']) {
    connection.send(requestText(origin, line, json, '{}'));
    const response = await connection.response();
    assertError(response, { status: 503, code: 'unavailable' });
    assert.equal(response.json.body.error.retryable, true);
    assert.ok(Number(response.headers.get('retry-after')) >= 1, 'Retry-After is in seconds');
  }
  connection.send(requestText(origin, 'GET /livez'));
  const alive = await connection.response();
  assert.equal(alive.text, '{"statusCode":200,"body":{"status":"alive"}}');
  assert.equal(alive.headers.get('content-type'), 'application/json');
  connection.close();
});

async function startListener(t: TestContext): Promise<Listener> {
  const listener = await Listener.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => listener.stop());
  return listener;
}

function requestBytes(
  origin: string,
  { method, path }: BodyOperation,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): Buffer {
  const length = { 'Content-Length': String(body.length) };
  return Buffer.concat([
    Buffer.from(requestText(origin, `${method} ${path}`, { ...headers, ...length })),
    body,
  ]);
}
