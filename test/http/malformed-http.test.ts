import assert from 'node:assert/strict';
import { test } from 'node:test';
import { payment } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { exchange, RawConnection, requestText } from '../support/http/raw-http.ts';
import { startTestService } from '../support/service.ts';

const json = { 'Content-Type': 'application/json' };
const createLine = 'POST /v3/table/books/create';
/** A request that is hidden in the body of another. */
const canary = `POST /v3/table/canary/create HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\n{"id":"a","name":"b"}`;

const malformed: Readonly<Record<string, (origin: string) => string>> = {
  'a garbage request line': () => 'what is this\r\n\r\n',
  'a bare HTTP/2 preface': () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a TLS hello': () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'a version that does not exist': () => 'GET /livez HTTP/1.9\r\nHost: localhost\r\n\r\n',
  'a path that does not begin with a slash': () => 'GET livez HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'bare line feeds': () => 'GET /livez HTTP/1.1\nHost: localhost\n\n',
  'a folded header': () => 'GET /livez HTTP/1.1\r\nHost: localhost\r\nX-A: a\r\n b\r\n\r\n',
  'a zero byte in a header': () => 'GET /livez HTTP/1.1\r\nHost: localhost\r\nX-A: a\0b\r\n\r\n',
  'a space before the colon of a header': () =>
    `${createLine} HTTP/1.1\r\nHost: localhost\r\nX-A : a\r\n\r\n`,
  'both Content-Length and Transfer-Encoding': (origin) =>
    requestText(origin, createLine, { ...json, 'Transfer-Encoding': 'chunked' }, `0\r\n\r\n${canary}`),
  'two different Content-Lengths': (origin) =>
    requestText(origin, createLine, { ...json, 'content-length': '0' }, canary),
  'a Content-Length that is not a number': (origin) =>
    `${requestText(origin, createLine, { ...json, 'Content-Length': '+5' })}${canary}`,
  'a chunk size that is not a number': (origin) =>
    `${requestText(origin, createLine, { ...json, 'Transfer-Encoding': 'chunked' })}zz\r\n${canary}`,
  'a transfer coding after chunked': (origin) =>
    `${requestText(origin, createLine, { ...json, 'Transfer-Encoding': 'chunked, identity' })}0\r\n\r\n${canary}`,
  'an unknown transfer coding': (origin) =>
    `${requestText(origin, createLine, { ...json, 'Transfer-Encoding': 'xchunked' })}${canary}`,
};

test('returns 400 in the envelope for malformed HTTP, and closes the connection', async (t) => {
  const service = await startTestService(t);
  for (const [what, bytes] of Object.entries(malformed)) {
    await t.test(what, async () => {
      const connection = await RawConnection.open(service.origin);
      connection.send(Buffer.from(bytes(service.origin), 'latin1'));
      assertError(await connection.response(), { status: 400, code: 'invalid_request' });
      assert.ok(await connection.ends(), 'nothing follows the error');
    });
  }
  assertError(await service.get('/v3/table/canary/read'), { status: 404, code: 'table_not_found' });
  assertError(await service.get('/v3/table/books/read'), { status: 404, code: 'table_not_found' });
});

test('returns 431 for headers or a request line over 16 KiB, and serves smaller ones', async (t) => {
  const { origin } = await startTestService(t);
  const long = 'a'.repeat(17_000);
  for (const request of [
    requestText(origin, 'GET /livez', { 'X-A': long }),
    requestText(origin, `GET /livez?${long}`),
    requestText(
      origin,
      'GET /livez',
      Object.fromEntries(Array.from(long, (_, index) => [`X-${index}`, 'a'])),
    ),
  ]) {
    const connection = await RawConnection.open(origin);
    connection.send(request);
    assertError(await connection.response(), { status: 431, code: 'headers_too_large' });
    assert.ok(await connection.ends(), 'nothing follows the error');
  }
  const served = await exchange(origin, requestText(origin, 'GET /livez', { 'X-A': 'a'.repeat(15_000) }));
  assert.equal(served.status, 200);
});

test('returns 400 for a request without Host, and names the header', async (t) => {
  const { origin } = await startTestService(t);
  const response = await exchange(origin, 'GET /livez HTTP/1.1\r\n\r\n');
  assertError(response, { status: 400, code: 'invalid_request', param: 'Host' });
});

test('returns 400 for an unknown expectation, and supports "100-continue"', async (t) => {
  const service = await startTestService(t);
  const { origin } = service;
  const body = '{"id":"a","name":"b"}';
  const unknown = await exchange(
    origin,
    requestText(origin, createLine, { ...json, Expect: 'a-miracle' }, body),
  );
  assertError(unknown, { status: 400, code: 'invalid_request', param: 'Expect' });
  assertError(await service.get('/v3/table/books/read'), { status: 404, code: 'table_not_found' });

  const known = await exchange(
    origin,
    requestText(origin, createLine, { ...json, Expect: '100-continue' }, body),
  );
  assert.equal(known.status, 200);
});

test('returns 405 in the envelope for CONNECT', async (t) => {
  const { origin } = await startTestService(t);
  const response = await exchange(origin, 'CONNECT localhost:443 HTTP/1.1\r\nHost: localhost\r\n\r\n');
  assertError(response, { status: 405, code: 'method_not_allowed' });
});

const afterCharge: Readonly<Record<string, string>> = {
  // A client that counts characters sends a Content-Length that is too small.
  'a byte more than Content-Length': ' ',
  garbage: 'what is this\r\n\r\n',
  'a request whose body is malformed': `${createLine} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
  'a CONNECT': 'CONNECT localhost:443 HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'an unknown expectation': `${createLine} HTTP/1.1\r\nHost: localhost\r\nExpect: a-miracle\r\n\r\n`,
};

test('returns 200 for every charge that was made, even when malformed bytes follow its request', async (t) => {
  const { origin } = await startTestService(t);
  for (const [what, bytes] of Object.entries(afterCharge)) {
    await t.test(what, async () => {
      const headers = { ...json, 'Idempotency-Key': what };
      const line = `${payment.method} ${payment.path}`;
      const request = requestText(origin, line, headers, JSON.stringify(payment.body));
      const connection = await RawConnection.open(origin);
      connection.send(request + bytes);
      const first = await connection.response();
      await connection.ends();
      const again = await exchange(origin, request);
      const charged = again.headers.get('idempotent-replayed') === 'true';
      assert.equal(again.status, 200);
      assert.equal(first.status === 200, charged, first.text);
    });
  }
});
