import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { SettingsError } from '../../src/errors.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { startWithLocalIssuer } from '../support/identity/local-issuer.ts';
import type { Tls } from '../support/oidc/scripted-oidc.ts';
import { newDataFolder } from '../support/service.ts';

test('signs in with an https issuer whose certificate a private CA issued', async (t) => {
  const signing = await start(t, { COUNTERFOIL_PRIVATE_CA: privateCaFile });
  const { status, text } = await signing.register();
  assert.equal(status, 200, text);
  const begun = await signing.begin();
  const sent = new URL(begun.headers.get('location') ?? '');
  assert.equal(sent.origin, signing.provider.issuer);
  // A browser that trusts the CA would return with a code; the test gets it from the provider directly.
  const callback = signing.provider.approve(sent);
  const cookie = begun.headers.getSetCookie().map((line) => line.split(';')[0]);
  const finished = await fetch(callback, { headers: { cookie: cookie.join('; ') }, redirect: 'manual' });
  assert.equal(finished.status, 303, await finished.text());
  assert.deepEqual(signing.provider.asked.slice(-2), ['/token', '/jwks']);
});

test('does not trust a certificate of that CA without the setting', async (t) => {
  const { register, provider } = await start(t, {});
  assert.equal((await register()).status, 400);
  assert.deepEqual(provider.asked, []);
});

test('trusts a certificate of that CA only for its own host', async (t) => {
  let requests = 0;
  const impostor = createServer(privateTls, (_request, response) => {
    requests++;
    response.end('{}');
  }).listen(0, '127.0.0.2');
  await once(impostor, 'listening');
  t.after(() => impostor.close());
  const { register } = await start(t, {
    COUNTERFOIL_PRIVATE_CA: privateCaFile,
    COUNTERFOIL_PRIVATE_ISSUERS: '127.0.0.0/8',
  });
  const { port } = impostor.address() as AddressInfo;
  assert.equal((await register(`https://127.0.0.2:${port}`)).status, 400);
  assert.equal(requests, 0);
});

test('reports a private CA that is missing or not a certificate, with the other problems', (t) => {
  const folder = join(newDataFolder(t), '..');
  const wrong = join(folder, 'ca.pem');
  writeFileSync(wrong, 'not a certificate');
  const broken = join(folder, 'broken.pem');
  writeFileSync(broken, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  for (const file of [join(folder, 'missing.pem'), folder, wrong, broken]) {
    assert.throws(
      () =>
        loadSettings({
          env: { COUNTERFOIL_PRIVATE_CA: file, PORT: 'x' },
          file: '/nonexistent/counterfoil.json',
          simulate: false,
        }),
      (error) => {
        assert.ok(error instanceof SettingsError);
        for (const name of ['COUNTERFOIL_PRIVATE_CA', 'PORT']) {
          assert.ok(
            error.problems.some((problem) => problem.includes(name)),
            `${name}: ${file}`,
          );
        }
        return true;
      },
      file,
    );
  }
});

async function start(t: TestContext, env: Record<string, string>) {
  return startWithLocalIssuer(t, { env, tls: privateTls });
}

const folder = join(import.meta.dirname, '../support/identity/private-ca');

/** A certificate for 127.0.0.1 and localhost, issued by a CA that no system trusts. Its key is only for tests. */
const privateTls: Tls = {
  key: readFileSync(join(folder, 'server-key.pem'), 'utf8'),
  cert: readFileSync(join(folder, 'server.pem'), 'utf8'),
};

/** The certificate of that CA, as `COUNTERFOIL_PRIVATE_CA` takes it. */
const privateCaFile = join(folder, 'ca.pem');
