import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Scope, scopes } from '../../src/access/scopes.ts';
import { bearing, everyScope, startServiceWithKeys } from '../support/access/keys.ts';
import { startTestService } from '../support/service.ts';

/** The access matrix tries these routes with every kind of key. */
const routes = [
  'GET /v3/users users:read',
  'GET /v3/users/:user_id users:read',
  'DELETE /v3/users/:user_id users:write',
  'GET /v3/sessions users:read',
  'DELETE /v3/sessions users:write',
  'DELETE /v3/sessions/:session_id users:write',
  'POST /v3/auth/:identity_provider/:INTEGRATION_NAME/back-channel-logout public',
  'POST /v3/auth/:identity_provider/:INTEGRATION_NAME/revoke public',
];

test('the routes of users and sessions need the scopes users:read and users:write', async (t) => {
  const service = await startTestService(t);
  const served = service.routes.map(({ method, url, access }) => `${method} ${url} ${access}`);
  const missing = routes.filter((route) => !served.includes(route));
  assert.deepEqual(missing, []);
  for (const scope of ['users:read', 'users:write']) assert.ok(scopes.includes(scope as Scope), scope);
});

test('users:read ends no session, and no other scope reads users', async (t) => {
  const userScopes = ['users:read', 'users:write'] as unknown as readonly Scope[];
  const [read, write] = userScopes as readonly [Scope, Scope];
  const { service, keys } = await startServiceWithKeys(t, {
    reads: { scopes: [read] },
    writes: { scopes: [write] },
    others: { scopes: everyScope.filter((scope) => !userScopes.includes(scope)) },
  });
  const user = '/v3/users/AAAAAAAAAAAAAAAAAAAAAA';
  for (const [method, path, allowed] of [
    ['GET', '/v3/users', 'reads'],
    ['GET', user, 'reads'],
    ['GET', '/v3/sessions', 'reads'],
    ['DELETE', user, 'writes'],
    ['DELETE', '/v3/sessions?integration=oidc/web', 'writes'],
  ] as const) {
    assert.equal((await service.send(method, path)).status, 401, `${method} ${path}`);
    for (const [name, key] of Object.entries(keys)) {
      const { status } = await service.send(method, path, undefined, bearing(key));
      const isAllowed = status === 200 || status === 404;
      assert.equal(isAllowed, name === allowed, `${name}: ${method} ${path}: ${status}`);
      if (!isAllowed) assert.equal(status, 403, `${name}: ${method} ${path}`);
    }
  }
});
