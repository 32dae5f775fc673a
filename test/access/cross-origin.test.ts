import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { bearing, startServiceWithKeys } from '../support/access/keys.ts';
import { create, payment, readPath } from '../support/http/documented-operations.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import type { TestResponse, TestService } from '../support/service.ts';

const shop = 'https://shop.example';
const console = 'https://console.example';

function start(t: TestContext) {
  const browser = { kind: 'publishable', scopes: ['payments:create'], origins: [shop] } as const;
  return startServiceWithKeys(
    t,
    { shop: browser, admin: { scopes: ['admin'] } },
    { env: { COUNTERFOIL_CORS_ORIGINS: console } },
  );
}

function preflight(
  service: TestService,
  path: string,
  method: string,
  origin: string,
): Promise<TestResponse> {
  return service.send('OPTIONS', path, undefined, {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'authorization,content-type',
  });
}

function allowed({ headers }: TestResponse): string | null {
  return headers.get('access-control-allow-origin');
}

test('responds to the preflight of an allowed origin, without a key, with the requested method and headers and no others', async (t) => {
  const { service } = await start(t);
  for (const [path, method, origin] of [
    [payment.path, 'POST', shop],
    [payment.path, 'POST', console],
    [payment.path, 'GET', console],
    [readPath, 'GET', console],
    [create.path, 'POST', console],
  ] as const) {
    const response = await preflight(service, path, method, origin);
    assert.deepEqual([response.status, response.text], [204, ''], `${method} ${path}`);
    assert.equal(allowed(response), origin);
    assert.equal(response.headers.get('access-control-allow-methods'), method);
    assert.match(
      response.headers.get('access-control-allow-headers') ?? '',
      /authorization, challenge-token, content-type, idempotency-key/,
    );
    assert.equal(response.headers.get('vary'), 'origin');
    assert.equal(response.headers.get('access-control-allow-credentials'), null);
  }
});

test('handles the preflight of any other origin as a request with a method that is not allowed', async (t) => {
  const { service } = await start(t);
  for (const [path, method, origin] of [
    [payment.path, 'POST', 'https://evil.example'],
    [payment.path, 'POST', `${shop}.evil.example`],
    [payment.path, 'POST', 'http://shop.example'],
    [payment.path, 'POST', `${shop}:443`],
    [payment.path, 'POST', 'null'],
    [payment.path, 'POST', '*'],
    [payment.path, 'GET', shop],
    [readPath, 'GET', shop],
    [create.path, 'POST', shop],
    [`${payment.path}/pay_1/refund`, 'POST', shop],
    [payment.path, 'DELETE', console],
    ['/nothing', 'GET', console],
  ] as const) {
    const response = await preflight(service, path, method, origin);
    assert.ok([404, 405].includes(response.status), `${method} ${path} of ${origin}: ${response.status}`);
    assert.equal(response.headers.get('access-control-allow-methods'), null);
    assert.ok(allowed(response) === null || origin === console);
  }
  const plain = await service.send('OPTIONS', readPath);
  assert.deepEqual([plain.status, plain.headers.get('allow')], [405, 'GET, HEAD']);
});

test('allows a page of an allowed origin to read every response and its headers, and no other page', async (t) => {
  const { service, keys } = await start(t);
  const pay = (origin: string, token: string) =>
    service.post(payment.path, { ...payment.body, token }, { ...bearing(keys.shop), origin });
  for (const token of ['tok_paid', 'tok_lost_card', 'tok_lost_reply', '']) {
    const response = await pay(shop, token);
    assert.equal(allowed(response), shop, `${response.status}`);
    assert.match(
      response.headers.get('access-control-expose-headers') ?? '',
      /location, payment-client-secret, payment-id/,
    );
  }
  assert.equal(allowed(await pay('https://evil.example', 'tok_paid')), null);
  assert.equal(
    allowed(await service.post(payment.path, payment.body, { origin: shop })),
    shop,
    'the rejection too',
  );
  await service.post(create.path, create.body, bearing(keys.admin));
  assert.equal(allowed(await service.get(readPath, { ...bearing(keys.admin), origin: console })), console);
  assert.equal(allowed(await service.get(readPath, { ...bearing(keys.admin), origin: shop })), null);
});

test('sends Vary: Origin next to other fields, also without an Origin header', async (t) => {
  const { service, keys } = await start(t);
  const headers = bearing(keys.admin);
  await service.post(create.path, { id: 'a', name: 'n'.repeat(5_000) }, headers);
  for (const more of [{}, { origin: console }]) {
    const whole = await service.get(readPath, { ...headers, ...more });
    assert.equal(whole.headers.get('vary'), 'accept-encoding, origin');
    const etag = whole.headers.get('etag') ?? '';
    const unchanged = await service.get(readPath, { ...headers, ...more, 'if-none-match': etag });
    assert.deepEqual([unchanged.status, unchanged.headers.get('vary')], [304, 'accept-encoding, origin']);
    const head = await service.send('HEAD', readPath, undefined, { ...headers, ...more });
    assert.deepEqual([head.status, head.headers.get('vary')], [200, 'accept-encoding, origin']);
  }
});

test('every response has its security headers, those of an API response or those of a page', async (t) => {
  const { service, keys } = await start(t);
  const headers = bearing(keys.admin);
  await service.post(create.path, create.body, headers);
  const cached = await service.get(readPath, headers);
  assert.equal(cached.headers.get('cache-control'), 'private, no-cache');
  for (const response of [
    await service.post(payment.path, payment.body, headers),
    await service.get(payment.path, headers),
    await service.get('/readyz'),
    await service.get('/nothing'),
    await service.get(readPath),
    await service.get('/v3/table/nothing/read', headers),
    await service.get('/v3/table/%ff/read', headers),
  ]) {
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff', response.text);
    assert.equal(response.headers.get('cache-control'), 'no-store', response.text);
    assert.equal(response.headers.get('strict-transport-security'), null);
  }
  const page = await service.get('/docs/');
  for (const [name, value] of [
    ['x-content-type-options', 'nosniff'],
    ['referrer-policy', 'no-referrer'],
    ['x-frame-options', 'DENY'],
    ['cross-origin-opener-policy', 'same-origin'],
  ] as const) {
    assert.equal(page.headers.get(name), value);
  }
  const malformed = await exchange(service.origin, 'GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n');
  assert.equal(malformed.status, 400);
  assert.equal(malformed.headers.get('x-content-type-options'), 'nosniff');
  const expecting = requestText(service.origin, 'GET /readyz', { Expect: 'a miracle' });
  assert.equal((await exchange(service.origin, expecting)).headers.get('x-content-type-options'), 'nosniff');
});

test('sends HSTS where the service is reached by https', async (t) => {
  const env = { COUNTERFOIL_PUBLIC_URL: 'https://api.shop.example' };
  const { service } = await startServiceWithKeys(t, { admin: {} }, { env });
  for (const path of ['/readyz', '/docs/', '/openapi.json', readPath]) {
    const response = await service.get(path);
    assert.equal(response.headers.get('strict-transport-security'), 'max-age=31536000', path);
  }
});
