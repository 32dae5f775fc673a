import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServiceWithKeys } from '../support/access/keys.ts';
import { bodyOperations, payment, readPath } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { startTestService } from '../support/service.ts';

const json = { 'Content-Type': 'application/json' };
const forwarding: Readonly<Record<string, string>> = {
  Forwarded: 'for=192.0.2.60;proto=http;by=203.0.113.43',
  'X-Forwarded-For': '192.0.2.60',
  'X-Forwarded-Host': 'shop.example',
  'X-Forwarded-Proto': 'https',
  'X-Real-IP': '192.0.2.60',
  Via: '1.1 proxy.example',
};

test('returns 401 for a request with any header of a proxy, and does nothing', async (t) => {
  const { get, post, origin, paymentOrigin } = await startTestService(t, {
    env: { COUNTERFOIL_PAYMENT_PORT: '0' },
  });
  for (const [name, value] of Object.entries(forwarding)) {
    for (const spelled of [name, name.toLowerCase()]) {
      for (const { method, path, body } of bodyOperations) {
        const at = path.includes('/stage/') ? paymentOrigin : origin;
        const headers = { ...json, [spelled]: value };
        const request = requestText(at, `${method} ${path}`, headers, JSON.stringify(body));
        const response = await exchange(at, request);
        assertError(response, { status: 401, code: 'unauthenticated', param: name.toLowerCase() });
        assert.equal(response.headers.get('payment-id'), undefined);
      }
    }
    for (const path of [readPath, '/', '/docs', '/openapi.json', '/nothing']) {
      const response = await exchange(origin, requestText(origin, `GET ${path}`, { [name]: value }));
      assertError(response, { status: 401, code: 'unauthenticated' });
    }
  }
  const empty = await exchange(origin, requestText(origin, `GET ${readPath}`, { 'X-Forwarded-For': '' }));
  assertError(empty, { status: 401, code: 'unauthenticated' });

  assertError(await get(readPath), { status: 404, code: 'table_not_found' });
  assert.equal((await post(payment.path, payment.body)).status, 200, 'a request without a proxy is served');
});

test('returns 403 for a request whose Host is not this machine', async (t) => {
  const { origin } = await startTestService(t);
  const { port } = new URL(origin);
  const foreign = [
    ...[
      'evil.example',
      `evil.example:${port}`,
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      'evil-localhost',
    ],
    ...[
      `192.0.2.1:${port}`,
      '0.0.0.0',
      '[::]',
      '[::ffff:192.0.2.1]',
      '128.0.0.1',
      'localhost@evil.example',
      '',
    ],
    ...[
      'evil.example#localhost',
      'evil.example/localhost',
      'localhost, evil.example',
      'evil.example:127.0.0.1',
    ],
  ];
  for (const host of foreign) {
    for (const line of [`GET ${readPath}`, 'GET /docs', 'POST /v3/table/books/create']) {
      const response = await exchange(
        origin,
        requestText(origin, line, { ...json, Host: host }, '{"id":"a","name":"b"}'),
      );
      assertError(response, { status: 403, code: 'forbidden', param: 'Host' });
    }
  }
  const read = await exchange(origin, requestText(origin, `GET ${readPath}`));
  assertError(read, { status: 404, code: 'table_not_found' });
});

test('serves a request for localhost, 127.0.0.1 and [::1], with any port and in any case', async (t) => {
  const { origin } = await startTestService(t);
  const { port } = new URL(origin);
  const own = ['localhost', 'LocalHost', '127.0.0.1', '127.1.2.3', '[::1]'];
  for (const host of own.flatMap((name) => [name, `${name}:${port}`, `${name}:1`])) {
    const response = await exchange(origin, requestText(origin, 'GET /readyz', { Host: host }));
    assert.equal(response.text, '{"statusCode":200,"body":{"status":"ready"}}', host);
  }
});

test('rejects HTTP/1.0, which nginx sends with a plain proxy_pass, until a key exists', async (t) => {
  const { origin } = await startTestService(t);
  const { host } = new URL(origin);
  for (const path of [readPath, '/readyz', '/nothing']) {
    for (const headers of ['', `Host: ${host}\r\nConnection: close\r\n`]) {
      const response = await exchange(origin, `GET ${path} HTTP/1.0\r\n${headers}\r\n`);
      assertError(response, { status: 401, code: 'unauthenticated' });
      assert.match(response.json.body.error.message, /through a proxy \(HTTP\/1\.0\).* keys create/);
    }
  }
  const { service } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const old = await exchange(service.origin, 'GET /readyz HTTP/1.0\r\n\r\n');
  assert.equal(old.status, 200, 'with keys, the version says nothing');
});

test('rejects a request with two Host headers', async (t) => {
  const { origin } = await startTestService(t);
  for (const hosts of [
    ['localhost', 'evil.example'],
    ['localhost', 'localhost'],
  ]) {
    const lines = hosts.map((host) => `Host: ${host}\r\n`).join('');
    const response = await exchange(origin, `GET /readyz HTTP/1.1\r\n${lines}\r\n`);
    assertError(response, { status: 400, code: 'invalid_request' });
  }
});
