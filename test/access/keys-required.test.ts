import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { SettingsError } from '../../src/errors.ts';
import { bearing, everyScope, newKey } from '../support/access/keys.ts';
import { signInToConsole } from '../support/console/sign-in.ts';
import { create, integration, payment, readPath } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { newDataFolder, startTestService, type TestService } from '../support/service.ts';
import { startScriptedStripe } from '../support/stripe/scripted-stripe.ts';

const json = { 'Content-Type': 'application/json' };
const values: Readonly<Record<string, string>> = {
  TABLE_NAME: 'books',
  processor: 'stripe',
  route_id: 'charge',
  payment_id: 'pay_1',
  identity_provider: 'google',
  INTEGRATION_NAME: 'shop',
};
const processors: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Stripe: { COUNTERFOIL_STRIPE_KEY: 'sk_test_abc' },
  Square: { COUNTERFOIL_SQUARE_ACCESS_TOKEN: 'abc' },
};

for (const [processor, env] of Object.entries(processors)) {
  for (const simulate of [false, true]) {
    test(`requires keys on loopback too where ${processor} is configured${simulate ? ', even if it also simulates' : ''}`, async (t) => {
      const service = await started(t, { env, simulate });
      // A service that does not start accepts no request.
      if (service === undefined) return;
      for (const { method, url, access } of service.routes) {
        const path = url
          .replace(/:(\w+)/g, (_, name: string) => values[name] ?? 'x')
          .replace('*', 'index.html');
        const hasBody = !['GET', 'HEAD', 'OPTIONS'].includes(method);
        const { status } = await service.send(method, path, hasBody ? {} : undefined);
        const isOpen = access === 'public' || access === 'signed';
        if (!isOpen) assert.equal(status, 401, `${method} ${path}`);
      }
      for (const [path, body] of [
        [create.path, create.body],
        [integration.path, integration.body],
        ['/stage/payment/stripe/charge', payment.body],
      ] as const) {
        assertError(await service.post(path, body), { status: 401, code: 'unauthenticated' });
      }
      assert.equal((await service.get('/livez')).status, 200);
    });
  }
}

test('charges through a real processor only after a key was created, and only with it', async (t) => {
  const stripe = await startScriptedStripe(t);
  const env = { COUNTERFOIL_STRIPE_KEY: stripe.key, COUNTERFOIL_STRIPE_API_BASE: stripe.origin };
  const path = '/stage/payment/stripe/charge';
  const open = await started(t, { env, simulate: false });
  if (open !== undefined) {
    assertError(await open.post(path, payment.body), { status: 401, code: 'unauthenticated' });
    await open.stop();
  }
  assert.deepEqual(stripe.charges, []);
  const data = newDataFolder(t);
  const key = await newKey(data);
  const closed = await startTestService(t, { data, env, simulate: false, keyless: true });
  assert.equal((await closed.post(path, payment.body, bearing(key))).status, 200);
  assert.equal((await closed.post(path, payment.body)).status, 401);
  assert.equal(stripe.charges.length, 1);
});

/** Settings by which other machines reach the service through a proxy. */
const proxied: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'a trusted proxy': { COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.1' },
  'a public URL': { COUNTERFOIL_PUBLIC_URL: 'https://shop.example' },
};

for (const [what, env] of Object.entries(proxied)) {
  test(`starts with ${what} in its settings only when a key exists, and then requires it`, async (t) => {
    const open = await started(t, { env, simulate: true });
    assert.equal(open, undefined, 'it does not start');
    const data = newDataFolder(t);
    const key = await newKey(data);
    const closed = await startTestService(t, { data, env, keyless: true });
    assertError(await closed.get(readPath), { status: 401, code: 'unauthenticated' });
    assertError(await closed.get(readPath, bearing(key)), { status: 404, code: 'table_not_found' });
  });
}

test('a public URL on loopback, as a development server has, leaves the service open', async (t) => {
  for (const url of ['http://127.0.0.1:3000', 'http://localhost:3000', 'http://[::1]:3000']) {
    const service = await started(t, { env: { COUNTERFOIL_PUBLIC_URL: url }, simulate: true });
    assertError(await (service as TestService).get(readPath), { status: 404, code: 'table_not_found' });
  }
});

test('an open service makes no key over HTTP, whatever it may do, and names the command', async (t) => {
  const service = await startTestService(t);
  const { headers } = await signInToConsole(service, 'cfk_none');
  for (const sent of [{}, headers]) {
    for (const scopes of [['admin'], everyScope]) {
      const refused = await service.post('/v3/keys', { name: 'mine', scopes }, sent);
      assert.ok([401, 403].includes(refused.status), refused.text);
      if (sent === headers) continue;
      assertError(refused, { status: 403, code: 'forbidden' });
      assert.match(refused.json.body.error.message, /npx counterfoil keys create --name admin --scope admin/);
    }
  }
  assert.equal((await service.get('/v3/keys')).text, '{"statusCode":200,"body":[]}', 'it stays open');
  assertError(await service.get(readPath), { status: 404, code: 'table_not_found' });
});

/** Headers in which proxies and CDNs name the client. */
const added: Readonly<Record<string, string>> = {
  Forwarded: 'for=192.0.2.60;proto=http;by=203.0.113.43',
  'X-Forwarded-For': '192.0.2.60',
  'X-Forwarded-Host': 'shop.example',
  'X-Forwarded-Proto': 'https',
  'X-Forwarded-Port': '443',
  'X-Forwarded-Server': 'proxy.example',
  'X-Forwarded': 'for=192.0.2.60',
  'Forwarded-For': '192.0.2.60',
  'X-Real-IP': '192.0.2.60',
  'X-Client-IP': '192.0.2.60',
  'X-Cluster-Client-IP': '192.0.2.60',
  'X-Original-Forwarded-For': '192.0.2.60',
  'X-Envoy-External-Address': '192.0.2.60',
  Via: '1.1 proxy.example',
  'CF-Connecting-IP': '192.0.2.60',
  'CF-Connecting-IPv6': '2001:db8::1',
  'CF-Ray': '230b030023ae2822-SJC',
  'True-Client-IP': '192.0.2.60',
  'Fastly-Client-IP': '192.0.2.60',
  'Fly-Client-IP': '192.0.2.60',
  'Cdn-Loop': 'cloudflare',
  'X-Azure-ClientIP': '192.0.2.60',
  'X-Amz-Cf-Id': 'abc==',
  'X-Appengine-User-IP': '192.0.2.60',
  'X-Forwarded-Prefix': '/shop',
  'X-Forwarded-Client-Cert': 'By=spiffe://a',
  'X-Forwarded-Ssl': 'on',
  'X-Original-Host': 'shop.example',
  'X-Envoy-Expected-Rq-Timeout-Ms': '15000',
  'X-Envoy-Attempt-Count': '1',
  'CF-Visitor': '{"scheme":"https"}',
  'CF-Worker': 'shop.example',
  'X-Amzn-Trace-Id': 'Root=1-67891233-abcdef012345678912345678',
  'X-Azure-Ref': '0zxV+XAAAAABKMMOjBv2NT4TY6SQVjC0z',
  'X-ARR-LOG-ID': '11111111-2222-3333-4444-555555555555',
  'Fly-Request-Id': '01H0-lhr',
  'CloudFront-Viewer-Country': 'DE',
  'X-Cloud-Trace-Context': '105445aa7843bc8bf206b120001000/1;o=1',
  'X-Varnish': '32770',
  'Max-Forwards': '9',
  'Tailscale-User-Login': 'ada@example.com',
  'X-Vercel-Id': 'fra1::x',
  'X-Nf-Client-Connection-Ip': '192.0.2.60',
};

test('an open service rejects a request with any header that a proxy or a CDN adds, and does nothing', async (t) => {
  const service = await startTestService(t);
  const { origin } = service;
  for (const [name, value] of Object.entries(added)) {
    for (const [spelled, sent] of [
      [name, value],
      [name.toLowerCase(), value],
      [name.toUpperCase(), ''],
    ] as const) {
      const headers = { ...json, [spelled]: sent };
      const body = JSON.stringify(create.body);
      const written = await exchange(origin, requestText(origin, `POST ${create.path}`, headers, body));
      assertError(written, { status: 401, code: 'unauthenticated', param: name.toLowerCase() });
      for (const path of [readPath, '/', '/docs', '/openapi.json', '/livez', '/nothing']) {
        const response = await exchange(origin, requestText(origin, `GET ${path}`, { [spelled]: sent }));
        assert.equal(response.status, 401, `${path} with ${spelled}`);
      }
    }
  }
  assertError(await service.get(readPath), { status: 404, code: 'table_not_found' });
});

test('an open service serves the headers that programs and browsers on this machine send', async (t) => {
  const service = await startTestService(t);
  const headers = {
    connection: 'close',
    'x-request-id': 'a',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    'x-b3-traceid': 'a',
    'x-requested-with': 'XMLHttpRequest',
    'sec-fetch-site': 'none',
    'cache-control': 'no-cache',
    dnt: '1',
    cookie: 'a=b',
    'x-viable': 'a',
    'accept-via': 'a',
  };
  const { origin } = service;
  const response = await exchange(origin, requestText(origin, `GET ${readPath}`, headers));
  assertError(response, { status: 404, code: 'table_not_found' });
});

test('an open service responds only to a Host of this machine', async (t) => {
  const service = await startTestService(t);
  const { origin } = service;
  for (const host of [
    'shop.example',
    'backend',
    '10.0.0.1:8080',
    '0.0.0.0',
    '127.0.0.1.nip.io',
    'localhost.',
  ]) {
    for (const path of [readPath, '/livez', '/nothing']) {
      const response = await exchange(origin, requestText(origin, `GET ${path}`, { Host: host }));
      assertError(response, { status: 403, code: 'forbidden', param: 'Host' });
    }
  }
  assert.equal((await service.get('/livez')).status, 200);
});

/** Undefined if the settings are rejected. */
async function started(
  t: TestContext,
  options: { readonly env: Readonly<Record<string, string>>; readonly simulate: boolean },
): Promise<TestService | undefined> {
  try {
    return await startTestService(t, { ...options, keyless: true });
  } catch (error) {
    assert.ok(error instanceof SettingsError, String(error));
    assert.match(error.message, /keys create/, 'the message names the command');
    return undefined;
  }
}
