import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { newApiKeyId, newApiKeyText } from '../../src/access/keys/api-key.ts';
import { type Scope, scopes } from '../../src/access/scopes.ts';
import type { ServedRoute } from '../../src/http/server/route-table.ts';
import { bearing, everyScope, idWithin, keyRequest, withKeys } from '../support/access/keys.ts';
import { create, integration, payment } from '../support/http/documented-operations.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { payerPrice } from '../support/payments/payer-price.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { newDataFolder, startTestService, type TestResponse, type TestService } from '../support/service.ts';

/**
 * The matrix is generated from the routes of the app: a new route is tried with every kind of key that must be
 * rejected, and a route without a declared access cannot be added.
 */
const origin = 'https://shop.example';
const yearMs = 365 * 24 * 60 * 60 * 1_000;

const values: Readonly<Record<string, string>> = {
  TABLE_NAME: 'books',
  processor: 'simulated',
  route_id: 'charge',
  identity_provider: 'google',
  INTEGRATION_NAME: 'shop',
};

/** A valid body for each documented path, so that a request that was accepted by mistake leaves a trace. */
const bodies: Readonly<Record<string, unknown>> = {
  [create.path]: create.body,
  [payment.path]: payment.body,
  [integration.path]: integration.body,
  '/v3/table/books/put': create.body,
  // With more than its own scope, a key could not make it.
  '/v3/keys': { name: 'made', scopes: ['keys:write'] },
  '/v3/table/books/batch': { writes: [{ create: create.body }] },
};

interface Keys {
  /** With only this scope. */
  readonly only: Readonly<Record<Scope, string>>;
  /** With every scope but this one, and not admin. */
  readonly allBut: Readonly<Record<Scope, string>>;
  readonly [name: string]: string | Readonly<Record<Scope, string>>;
}

async function makeKeys(data: string): Promise<Keys> {
  const longAgo = () => Date.now() - 2 * yearMs;
  const expiresAt = new Date(Date.now() - yearMs).toISOString();
  const expired = await withKeys(data, (keys) => keys.create(keyRequest({ expiresAt })), longAgo);
  return withKeys(data, async (keys) => {
    const make = async (fields: Parameters<typeof keyRequest>[0]) =>
      (await keys.create(keyRequest(fields))).text;
    const byScope = async (scopesOf: (scope: Scope) => readonly Scope[]) => {
      const texts: [string, string][] = [];
      for (const scope of scopes) texts.push([scope, await make({ scopes: scopesOf(scope) })]);
      return Object.fromEntries(texts) as Record<Scope, string>;
    };
    const revoked = await make({});
    await keys.revoke(idWithin(revoked));
    const rotated = await make({});
    await keys.rotate(idWithin(rotated), 0);
    return {
      only: await byScope((scope) => [scope]),
      allBut: await byScope((scope) => everyScope.filter((each) => each !== scope)),
      revoked,
      rotated,
      expired: expired.text,
      otherTable: await make({ tables: ['films', 'Books', 'book', 'bookss'] }),
      otherRoute: await make({ routes: ['simulated/donation', 'stripe/charge'] }),
      publishable: await make({ kind: 'publishable', scopes: ['payments:create'], origins: [origin] }),
      routed: await make({ routes: ['simulated/charge'] }),
      tabled: await make({ tables: ['books'] }),
    };
  });
}

async function start(t: TestContext) {
  const data = newDataFolder(t);
  const keys = await makeKeys(data);
  const env = {
    COUNTERFOIL_LIMIT_CHARGES: '0',
    COUNTERFOIL_LIMIT_DECLINES: '0',
    COUNTERFOIL_LIMIT_REQUESTS: '0',
    COUNTERFOIL_TABLE_ALIASES: 'dynamodb',
  };
  const service = await startTestService(t, { data, env, file: writeSettings(t, payerPrice) });
  const ask = ({ method, url }: ServedRoute, headers: Record<string, string> = {}) => {
    const path = pathOf(url);
    const takesBody = method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS';
    return service.send(method, path, takesBody ? (bodies[path] ?? {}) : undefined, headers);
  };
  return { service, keys, ask };
}

function pathOf(url: string): string {
  return url.replace(/:(\w+)/g, (_, name: string) => values[name] ?? 'x').replace('*', 'index.html');
}

function scopedRoutes({ routes }: TestService): (ServedRoute & { readonly access: Scope })[] {
  return routes.filter((route): route is ServedRoute & { access: Scope } =>
    scopes.includes(route.access as Scope),
  );
}

function assertRejected(response: TestResponse, status: 401 | 403, what: string): void {
  assert.equal(response.status, status, `${what}: ${response.text}`);
  if (response.text === '') return;
  assert.equal(response.json.body.error.code, status === 401 ? 'unauthenticated' : 'forbidden', what);
}

function assertAllowed(response: TestResponse, what: string): void {
  // A 401 without a challenge is the route's response to a user who is not signed in, not a rejected key.
  const isAsked = response.status === 401 && response.headers.has('www-authenticate');
  assert.ok(
    !isAsked && ![403, 429, 500].includes(response.status),
    `${what}: ${response.status} ${response.text}`,
  );
}

test('the app has the routes of the matrix, and each declares its access', async (t) => {
  const { service } = await start(t);
  const described = service.routes.map(({ method, url, access }) => `${method} ${url} ${access}`);
  assert.ok(scopedRoutes(service).length >= 15, described.join('\n'));
  for (const expected of [
    'POST /stage/payment/:processor/:route_id payments:create',
    'POST /stage/payment/:processor/:route_id/:payment_id/refund payments:refund',
    'GET /v3/table/:TABLE_NAME/read tables:read',
    'HEAD /v3/table/:TABLE_NAME/read tables:read',
    'DELETE /v3/dynamodb/:TABLE_NAME/delete tables:write',
    'PUT /v3/dynamodb/:TABLE_NAME/put tables:write',
    'DELETE /v3/table/:TABLE_NAME admin',
    'GET /v3/tables tables:read',
    'GET /v3/keys keys:read',
    'POST /v3/keys keys:write',
    'POST /v3/keys/:key_id/rotate keys:write',
    'DELETE /v3/keys/:key_id keys:write',
    'POST /v3/create/service/auth/:identity_provider/:INTEGRATION_NAME integrations:write',
    'POST /stage/events/:processor signed',
    'GET /readyz public',
  ]) {
    assert.ok(described.includes(expected), expected);
  }
  const open = described.filter((route) => route.endsWith(' public')).map((route) => route.split(' ')[1]);
  for (const url of open) {
    assert.match(
      url ?? '',
      /^\/$|^\/(livez|readyz|openapi\.json|docs|console|stage\/challenge)|\/v3\/auth\/|\/\.well-known\//,
      'nothing else is public',
    );
  }
});

test('every route responds 401 to every caller without a valid key, and no such request leaves a trace', async (t) => {
  const { service, keys, ask } = await start(t);
  const right = keys.only.admin;
  const wrongSecret = `${right.slice(0, -43)}${newApiKeyText('secret', newApiKeyId()).slice(-43)}`;
  const bad: Record<string, Record<string, string>> = {
    none: {},
    empty: { authorization: '' },
    scheme: { authorization: `Basic ${Buffer.from(`${right}:`).toString('base64')}` },
    bare: { authorization: right },
    'no key': { authorization: 'Bearer' },
    malformed: bearing('cfk_x.y'),
    'with more': bearing(`${right}x`),
    'two in one': { authorization: `Bearer ${right}, Bearer ${right}` },
    unknown: bearing(newApiKeyText('secret', newApiKeyId())),
    'wrong secret': bearing(wrongSecret),
    'other kind': bearing(right.replace('cfk_', 'cfp_')),
    'other case': bearing(right.toUpperCase()),
    revoked: bearing(keys.revoked as string),
    rotated: bearing(keys.rotated as string),
    expired: bearing(keys.expired as string),
  };
  const sentences = new Set<string>();
  for (const route of scopedRoutes(service)) {
    for (const [name, headers] of Object.entries(bad)) {
      const response = await ask(route, headers);
      assertRejected(response, 401, `${name} on ${route.method} ${route.url}`);
      const challenge = response.headers.get('www-authenticate') ?? '';
      assert.match(
        challenge,
        name === 'none' ? /^Bearer realm="[^"]+"$/ : /^Bearer realm=.*, error="invalid_token"$/,
      );
      if (name !== 'none' && response.text !== '') sentences.add(response.json.body.error.message);
    }
  }
  assert.equal(sentences.size, 1, 'all rejections have one message');
  await assertUntouched(service, right);
});

test('every route responds 403 to a key without its scope or resource, and no such request leaves a trace', async (t) => {
  const { service, keys, ask } = await start(t);
  const withKey = (name: string) => bearing(keys[name] as string);
  for (const route of scopedRoutes(service)) {
    const what = `${route.method} ${route.url}`;
    const lacking = await ask(route, bearing(keys.allBut[route.access]));
    assertRejected(lacking, 403, what);
    if (lacking.text !== '')
      assert.match(lacking.json.body.error.message, new RegExp(`scope ${route.access}`));
    assert.match(lacking.headers.get('www-authenticate') ?? '', new RegExp(`scope="${route.access}"`));
    if (route.url === '/v3/tables') assertAllowed(await ask(route, withKey('otherTable')), what);
    else if (route.access.startsWith('tables:') || route.url.includes(':TABLE_NAME'))
      assertRejected(await ask(route, withKey('otherTable')), 403, what);
    if (route.access.startsWith('payments:'))
      assertRejected(await ask(route, withKey('otherRoute')), 403, what);
    const foreign =
      route.access === 'payments:create'
        ? [{}, { origin: 'https://evil.example' }, { origin: 'null' }]
        : [{ origin }];
    for (const from of foreign) {
      assertRejected(await ask(route, { ...withKey('publishable'), ...from }), 403, `publishable on ${what}`);
    }
  }
  await assertUntouched(service, keys.only.admin);
});

test('every route accepts a key with its scope and an admin key, and public routes accept every key', async (t) => {
  const { service, keys, ask } = await start(t);
  const withKey = (name: string) => bearing(keys[name] as string);
  for (const route of service.routes) {
    const what = `${route.method} ${route.url}`;
    // They judge their callers themselves (test/console).
    if (/^\/console\/(session|sign-in)/.test(route.url)) continue;
    if (route.access === 'public' || route.access === 'signed') {
      assertAllowed(await ask(route), what);
      continue;
    }
    assertAllowed(await ask(route, bearing(keys.only[route.access])), what);
    assertAllowed(await ask(route, bearing(keys.only.admin)), what);
    if (route.access.startsWith('tables:')) assertAllowed(await ask(route, withKey('tabled')), what);
    if (route.access.startsWith('payments:')) assertAllowed(await ask(route, withKey('routed')), what);
  }
  const paid = await service.post(payment.path, payment.body, { ...withKey('publishable'), origin });
  assert.equal(paid.status, 200, paid.text);
});

test('rejects a request with two Authorization headers, even if one is valid', async (t) => {
  const { service, keys } = await start(t);
  const right = `Authorization: Bearer ${keys.only.admin}\r\n`;
  const wrong = `Authorization: Bearer ${keys.revoked as string}\r\n`;
  const text = requestText(service.origin, 'GET /v3/table/books/read');
  for (const lines of [right + wrong, wrong + right, right + right]) {
    const response = await exchange(service.origin, text.replace('\r\n\r\n', `\r\n${lines}\r\n`));
    assert.equal(response.status, 401, lines);
  }
});

/** Asserts that the rejected requests created no table, no payment, no integration and no API key. */
async function assertUntouched(service: TestService, admin: string): Promise<void> {
  const table = await service.get('/v3/table/books/read', bearing(admin));
  assert.equal(table.json.body.error?.code, 'table_not_found', table.text);
  const payments = await service.get(payment.path, bearing(admin));
  assert.deepEqual(payments.json.body, [], payments.text);
  const made = await service.post('/v3/keys', bodies['/v3/keys'], bearing(admin));
  assert.equal(made.status, 200, 'no key has the name');
  const credentials = { IDP_CLIENT_ID: 'other', IDP_CLIENT_SECRET: 'other' };
  const registered = await service.post(integration.path, credentials, bearing(admin));
  assert.equal(registered.status, 200, 'the name was not taken');
}
