import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTestService } from '../support/service.ts';

const credentials = { IDP_CLIENT_ID: 'client-1', IDP_CLIENT_SECRET: 'canary-secret-4711' };

test('registers an integration and returns the documented fields, without the secret', async (t) => {
  const service = await startTestService(t);
  const response = await service.post('/v3/create/service/auth/google/my-web-1', credentials);
  assert.equal(response.status, 200);
  const { created_at, ...body } = response.json.body;
  assert.deepEqual(body, {
    compelete: true,
    complete: true,
    name: 'my-web-1',
    provider: 'google',
    client_id: 'client-1',
    redirect_uri: `${service.origin}/v3/auth/google/my-web-1/callback`,
    sign_in_url: `${service.origin}/v3/auth/google/my-web-1/sign-in`,
  });
  assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000);
  assert.ok(!response.text.includes(credentials.IDP_CLIENT_SECRET));
});

test('repeats the response to the same registration, and rejects another one under the same name', async (t) => {
  const service = await startTestService(t);
  const path = '/v3/create/service/auth/github/web';
  const first = await service.post(path, credentials);
  assert.equal((await service.post(path, credentials)).text, first.text);
  for (const other of [
    { ...credentials, IDP_CLIENT_SECRET: 'other' },
    { ...credentials, IDP_CLIENT_ID: 'other' },
  ]) {
    const rejected = await service.post(path, other);
    assert.equal(rejected.status, 409);
    assert.equal(rejected.json.body.error.code, 'integration_exists');
    assert.equal(rejected.json.body.compelete, false);
  }
  assert.equal((await service.post(path, credentials)).text, first.text);
});

test('the same name may be registered for different providers', async (t) => {
  const service = await startTestService(t);
  await service.post('/v3/create/service/auth/google/web', credentials);
  const { status } = await service.post('/v3/create/service/auth/microsoft/web', {
    ...credentials,
    IDP_CLIENT_ID: 'b',
  });
  assert.equal(status, 200);
});

test("accepts the neutral field names and the provider's own, and rejects different values", async (t) => {
  const service = await startTestService(t);
  const own = { GOOGLE_CLIENT_ID: 'client-1', GOOGLE_CLIENT_SECRET: credentials.IDP_CLIENT_SECRET };
  const first = await service.post('/v3/create/service/auth/google/web', own);
  assert.equal(first.status, 200);
  assert.equal((await service.post('/v3/create/service/auth/google/web', credentials)).text, first.text);
  assert.equal(
    (await service.post('/v3/create/service/auth/google/web', { ...own, ...credentials })).status,
    200,
  );
  const differing = await service.post('/v3/create/service/auth/google/web', {
    ...own,
    ...credentials,
    IDP_CLIENT_ID: 'x',
  });
  assert.equal(differing.status, 400);
  assert.equal(differing.json.body.error.param, 'GOOGLE_CLIENT_ID');
  const foreign = await service.post('/v3/create/service/auth/github/web', own);
  assert.equal(foreign.status, 400);
  assert.equal(foreign.json.body.error.param, 'GOOGLE_CLIENT_ID');
});

test('requires a safe issuer for oidc, and rejects one for other providers', async (t) => {
  const service = await startTestService(t);
  const path = '/v3/create/service/auth/oidc/web';
  assert.equal((await service.post(path, credentials)).json.body.error.param, 'IDP_ISSUER');
  for (const IDP_ISSUER of [
    'http://id.example.com',
    'https://id.example.com?x=1',
    'https://id.example.com#x',
    'https://user:password@id.example.com',
    'ftp://id.example.com',
    'id.example.com',
  ]) {
    const { status, json } = await service.post(path, { ...credentials, IDP_ISSUER });
    assert.equal(status, 400, IDP_ISSUER);
    assert.equal(json.body.error.param, 'IDP_ISSUER');
  }
  const issuer = { ...credentials, IDP_ISSUER: 'https://id.example.com/realms/one' };
  assert.equal((await service.post(path, issuer)).status, 200);
  const elsewhere = await service.post(path, { ...credentials, IDP_ISSUER: 'https://other.example.com' });
  assert.equal(elsewhere.json.body.error.code, 'integration_exists');
  const google = await service.post('/v3/create/service/auth/google/web', issuer);
  assert.equal(google.json.body.error.param, 'IDP_ISSUER');
});

test('rejects an unknown provider', async (t) => {
  const service = await startTestService(t);
  for (const provider of ['facebook', 'Google', '__proto__', 'constructor']) {
    const { status, json } = await service.post(`/v3/create/service/auth/${provider}/web`, credentials);
    assert.equal(status, 404, provider);
    assert.equal(json.body.error.code, 'provider_not_found');
  }
});

test('uses the public URL of the settings, and the path prefix', async (t) => {
  const service = await startTestService(t, {
    env: { COUNTERFOIL_PUBLIC_URL: 'https://id.example.com', COUNTERFOIL_BASE_PATH: '/api' },
  });
  const { json } = await service.post('/api/v3/create/service/auth/google/web', credentials);
  assert.equal(json.body.redirect_uri, 'https://id.example.com/api/v3/auth/google/web/callback');
});

test('leaves no unencrypted secret in the data folder or the log', async (t) => {
  const service = await startTestService(t);
  const secret = credentials.IDP_CLIENT_SECRET;
  await service.post('/v3/create/service/auth/google/web', credentials);
  await service.post('/v3/create/service/auth/google/web', { ...credentials, IDP_CLIENT_ID: 'other' });
  await service.post('/v3/create/service/auth/google/web', `{"IDP_CLIENT_SECRET":"${secret}",`);
  await service.post('/v3/create/service/auth/google/web', {
    IDP_CLIENT_SECRET: `${secret} `,
    IDP_CLIENT_ID: 'a',
  });
  await service.stop();
  const forms = [secret, ...(['base64', 'hex'] as const).map((form) => Buffer.from(secret).toString(form))];
  const files = readdirSync(service.data).map((name) => readFileSync(join(service.data, name), 'latin1'));
  assert.ok(
    files.some((content) => content.includes('client-1')),
    'the search does not find a stored value',
  );
  for (const form of forms) {
    assert.ok(!service.logged().includes(form));
    for (const content of files) assert.ok(!content.includes(form));
  }
});

test('keeps the registration across a restart with the same master key', async (t) => {
  const first = await startTestService(t);
  const { text } = await first.post('/v3/create/service/auth/google/web', credentials);
  const { origin } = first;
  await first.stop();
  const second = await startTestService(t, { data: first.data, env: { COUNTERFOIL_PUBLIC_URL: origin } });
  assert.equal((await second.post('/v3/create/service/auth/google/web', credentials)).text, text);
});
