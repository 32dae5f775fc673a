import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { SettingsError } from '../../src/errors.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { startWithLocalIssuer } from '../support/identity/local-issuer.ts';

const publicUrl = { COUNTERFOIL_PUBLIC_URL: 'https://id.example.com' };
const named = (issuers: string) => ({ ...publicUrl, COUNTERFOIL_PRIVATE_ISSUERS: issuers });
const metadataForms = [
  '169.254.169.254',
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '[::ffff:169.254.169.254]',
  '[::ffff:a9fe:a9fe]',
  '[64:ff9b::a9fe:a9fe]',
];

for (const issuers of [
  '127.0.0.1',
  '127.0.0.0/8',
  '127.0.0.1/32',
  'keycloak.internal,127.0.0.1,10.0.0.0/8',
  ' 127.0.0.1 , ::1/128',
]) {
  test(`signs in with a private issuer that the operator named: ${issuers}`, async (t) => {
    const { register, begin } = await startWithLocalIssuer(t, { env: named(issuers) });
    const { status, text } = await register();
    assert.equal(status, 200, text);
    assert.equal((await begin()).status, 303);
  });
}

test('calls a named host by its name', async (t) => {
  const { provider, register } = await startWithLocalIssuer(t, { env: named('localhost') });
  const byName = provider.issuer.replace('127.0.0.1', 'localhost');
  provider.twists = { discovery: (honest) => ({ ...honest, issuer: byName }) };
  const { status, text } = await register(byName);
  assert.equal(status, 200, text);
});

test('does not call a private issuer that is not named', async (t) => {
  const { provider, register } = await startWithLocalIssuer(t, { env: named('127.0.0.2,10.0.0.0/8') });
  assert.equal((await register()).status, 400);
  assert.deepEqual(provider.asked, []);
});

test('does not call endpoints of a named issuer at an address that is not named', async (t) => {
  let requests = 0;
  const inner = createServer((_request, response) => {
    requests++;
    response.end('{}');
  }).listen(0, '127.0.0.2');
  await once(inner, 'listening');
  t.after(() => inner.close());
  const origin = `http://127.0.0.2:${(inner.address() as AddressInfo).port}`;
  const { service, provider, register, begin } = await startWithLocalIssuer(t, { env: named('127.0.0.1') });
  provider.twists = {
    discovery: (honest) => ({ ...honest, token_endpoint: `${origin}/token`, jwks_uri: `${origin}/jwks` }),
  };
  await register(provider.issuer, '');
  const begun = await begin();
  const cookie = begun.headers.getSetCookie().map((line) => line.split(';')[0]);
  const atProvider = await fetch(begun.headers.get('location') ?? provider.issuer, { redirect: 'manual' });
  const callback = atProvider.headers.get('location') ?? '';
  assert.match(callback, /\/callback\?/, 'the provider sends the browser to the callback');
  const here = callback.replace('https://id.example.com', service.origin);
  const finished = await fetch(here, {
    headers: { cookie: cookie.join('; ') },
    redirect: 'manual',
  });
  assert.equal(finished.status, 502);
  assert.equal(requests, 0);
});

test('does not call metadata addresses, also when other networks are named', async (t) => {
  const env = named('127.0.0.1,10.0.0.0/8,192.168.0.0/16,keycloak.internal');
  const { service, register } = await startWithLocalIssuer(t, { env });
  for (const host of metadataForms) {
    for (const scheme of ['http', 'https']) {
      assert.equal((await register(`${scheme}://${host}/latest`)).status, 400, `${scheme}://${host}`);
    }
  }
  assert.doesNotMatch(service.logged(), /outbound_timeout|ECONNREFUSED|EHOSTUNREACH/);
});

test('reports every private issuer that is neither a host nor a network, with the other problems', () => {
  for (const wrong of [
    '10.0.0.0/33',
    '::1/129',
    '10.0.0.0/',
    '/8',
    'https://keycloak.internal',
    'keycloak.internal:8443',
    'keycloak.internal/realms',
    '*.internal',
    'two words',
    '999.1.1.1/8',
    '[::1',
  ]) {
    const env = { COUNTERFOIL_PRIVATE_ISSUERS: `127.0.0.1,${wrong}`, PORT: 'x' };
    assert.throws(
      () => loadSettings({ env, file: '/nonexistent/counterfoil.json', simulate: false }),
      (error) => {
        assert.ok(error instanceof SettingsError);
        assert.ok(
          error.problems.some((problem) => problem.includes('COUNTERFOIL_PRIVATE_ISSUERS')),
          wrong,
        );
        assert.ok(
          error.problems.some((problem) => problem.includes('PORT')),
          wrong,
        );
        return true;
      },
      wrong,
    );
  }
  const env = { COUNTERFOIL_PRIVATE_ISSUERS: 'keycloak.internal,localhost,10.0.0.0/8,fd00::/8,::1' };
  loadSettings({ env, file: '/nonexistent/counterfoil.json', simulate: false });
});
