import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { SettingsError } from '../../src/errors.ts';
import { bearing, newKey } from '../support/access/keys.ts';
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
