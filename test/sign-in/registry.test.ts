import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScriptedOidc } from '../support/oidc/scripted-oidc.ts';
import { startTestService } from '../support/service.ts';
import { credentials, signIn, startSignIn } from '../support/sign-in/signing-in.ts';

const created = '/v3/create/service/auth/google/web';
const one = '/v3/service/auth/google/web';

test('returns an integration without the secret, and deletes it', async (t) => {
  const service = await startTestService(t);
  assert.equal((await service.get(one)).json.body.error.code, 'integration_not_found');
  const fields = { ...credentials, return_urls: ['https://app.example.com/in'], scopes: ['email'] };
  assert.equal((await service.post(created, fields)).status, 200);
  const found = await service.get(one);
  const { created_at, ...body } = found.json.body;
  assert.ok(Date.parse(created_at) > 0);
  assert.deepEqual(body, {
    name: 'web',
    provider: 'google',
    client_id: 'client-1',
    return_urls: ['https://app.example.com/in'],
    scopes: ['openid', 'email'],
    redirect_uri: `${service.origin}/v3/auth/google/web/callback`,
    sign_in_url: `${service.origin}/v3/auth/google/web/sign-in`,
    console_approved_at: null,
  });
  assert.ok(!found.text.includes(credentials.IDP_CLIENT_SECRET));
  const deleted = await service.send('DELETE', one);
  assert.equal(deleted.text, '{"statusCode":200,"body":{"message":"Integration deleted"}}');
  assert.equal((await service.send('DELETE', one)).status, 404);
  assert.equal((await service.get(one)).status, 404);
});

test('accepts a repeated registration only when every field is the same', async (t) => {
  const service = await startTestService(t);
  const fields = { ...credentials, return_urls: ['https://app.example.com/in'], scopes: ['email', 'openid'] };
  const first = await service.post(created, fields);
  assert.equal((await service.post(created, fields)).text, first.text);
  assert.equal((await service.post(created, { ...fields, scopes: ['openid', 'email'] })).status, 200);
  for (const other of [
    credentials,
    { ...fields, return_urls: [] },
    { ...fields, return_urls: ['https://app.example.com/other'] },
    { ...fields, scopes: ['openid'] },
  ]) {
    assert.equal((await service.post(created, other)).json.body.error.code, 'integration_exists');
  }
});

test('replaces the credentials of an integration, and creates none', async (t) => {
  const service = await startTestService(t);
  const other = { GOOGLE_CLIENT_ID: 'client-2', GOOGLE_CLIENT_SECRET: 'canary-2' };
  assert.equal((await service.send('PUT', one, other)).json.body.error.code, 'integration_not_found');
  const first = await service.post(created, { ...credentials, scopes: ['openid'] });
  const replaced = await service.send('PUT', one, other);
  assert.equal(replaced.json.body.client_id, 'client-2');
  assert.equal(replaced.json.body.created_at, first.json.body.created_at);
  assert.deepEqual(replaced.json.body.scopes, ['openid', 'profile', 'email']);
  assert.ok(!replaced.text.includes('canary-2'));
  assert.equal((await service.post(created, credentials)).status, 409);
  assert.equal((await service.post(created, other)).status, 200);
  for (const body of [
    {},
    { IDP_CLIENT_ID: 'a' },
    { ...other, name: 'x' },
    { ...other, IDP_CLIENT_ID: 'x' },
  ]) {
    assert.equal((await service.send('PUT', one, body)).status, 400);
  }
});

test('uses the replaced credentials from the next sign-in on', async (t) => {
  const signing = await startSignIn(t);
  await signIn(signing);
  const body = { ...credentials, IDP_CLIENT_SECRET: 'secret-2', IDP_ISSUER: signing.provider.issuer };
  assert.equal((await signing.service.send('PUT', '/v3/service/auth/oidc/web', body)).status, 200);
  await signIn(signing);
  assert.deepEqual(signing.provider.secrets, ['secret-1', 'secret-2']);
});

test('lists integrations by provider and name, in pages', async (t) => {
  const service = await startTestService(t);
  const names = Array.from({ length: 103 }, (_, index) => `web-${String(index).padStart(3, '0')}`);
  await Promise.all(names.map((name) => service.post(`/v3/create/service/auth/google/${name}`, credentials)));
  await service.post('/v3/create/service/auth/github/first', credentials);
  const first = (await service.get('/v3/service/auth')).json;
  assert.equal(first.body.length, 100);
  assert.equal(first.body[0].name, 'first');
  const rest = (await service.get(`/v3/service/auth?after=${first.next}`)).json;
  assert.deepEqual(
    [...first.body, ...rest.body].map(({ name }) => name),
    ['first', ...names],
  );
  assert.equal(rest.next, undefined);
  const google = (await service.get('/v3/service/auth/google')).json;
  const more = (await service.get(`/v3/service/auth/google?after=${google.next}`)).json;
  assert.deepEqual(
    [...google.body, ...more.body].map(({ name }) => name),
    names,
  );
  assert.deepEqual((await service.get('/v3/service/auth/oidc')).json.body, []);
  assert.equal((await service.get('/v3/service/auth/facebook')).json.body.error.code, 'provider_not_found');
  for (const query of ['after=', 'after=x', 'after=google', 'limit=1', 'after=github/first']) {
    assert.equal((await service.get(`/v3/service/auth/google?${query}`)).status, 400, query);
  }
});

test('rejects return URLs and scopes beyond their bounds', async (t) => {
  const service = await startTestService(t);
  for (const [fields, param] of [
    [{ return_urls: 'https://app.example.com/' }, 'return_urls'],
    [{ return_urls: [7] }, 'return_urls.0'],
    [{ return_urls: Array(51).fill('https://app.example.com/') }, 'return_urls'],
    [{ scopes: ['a b'] }, 'scopes.0'],
    [{ scopes: ['ok', ''] }, 'scopes.1'],
    [{ scopes: ['"'] }, 'scopes.0'],
    [{ scopes: Array.from({ length: 21 }, (_, index) => `s${index}`) }, 'scopes'],
    [{ scopes: 'openid' }, 'scopes'],
  ] as const) {
    const { status, json } = await service.post(created, { ...credentials, ...fields });
    assert.equal(status, 400, JSON.stringify(fields));
    assert.equal(json.body.error.param, param);
  }
});

test('verifies the metadata of a provider on request, and registers nothing when it is invalid', async (t) => {
  const service = await startTestService(t);
  const provider = await ScriptedOidc.start(t);
  const path = '/v3/create/service/auth/oidc/web?verify=true';
  const body = { ...credentials, IDP_ISSUER: provider.issuer };
  const lies = [
    (honest: object) => ({ ...honest, issuer: 'https://attacker.example' }),
    (honest: object) => ({ ...honest, authorization_endpoint: 'javascript:alert(1)' }),
    (honest: object) => ({ ...honest, authorization_endpoint: undefined }),
    (honest: object) => ({ ...honest, token_endpoint: undefined }),
    (honest: object) => ({ ...honest, jwks_uri: undefined }),
    (honest: object) => ({ ...honest, jwks_uri: 'not a URL' }),
    (honest: object) => ({ ...honest, id_token_signing_alg_values_supported: ['none'] }),
    () => ({}),
  ];
  for (const discovery of lies) {
    provider.twists = { discovery };
    const { status, json } = await service.post(path, body);
    assert.equal(status, 400, discovery.toString());
    assert.equal(json.body.error.param, 'IDP_ISSUER');
    assert.match(json.body.error.message, /does not return valid metadata/);
    assert.equal(json.body.compelete, false);
  }
  provider.twists = { respond: (_path, response) => response.writeHead(500).end() !== undefined };
  assert.match((await service.post(path, body)).json.body.error.message, /could not be reached/);
  assert.equal((await service.get('/v3/service/auth/oidc/web')).status, 404);
  provider.twists = {};
  assert.equal((await service.post(path, body)).status, 200);
  assert.equal(
    (await service.post('/v3/create/service/auth/github/web?verify=true', credentials)).status,
    200,
  );
  assert.equal((await service.post(`${path.replace('true', 'yes')}`, body)).status, 400);
});

test('rejects the URL of a discovery document as an issuer', async (t) => {
  const service = await startTestService(t);
  const IDP_ISSUER = 'https://id.example.com/.well-known/openid-configuration';
  const { json } = await service.post('/v3/create/service/auth/oidc/web', { ...credentials, IDP_ISSUER });
  assert.equal(json.body.error.param, 'IDP_ISSUER');
});
