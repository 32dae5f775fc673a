import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loopbackForms } from '../support/identity/address-forms.ts';
import { startWithLocalIssuer } from '../support/identity/local-issuer.ts';

const behindProxy = { COUNTERFOIL_PUBLIC_URL: 'https://id.example.com' };

test('rejects an issuer on this machine when the public URL is remote, without calling it', async (t) => {
  const { provider, register, begin } = await startWithLocalIssuer(t, { env: behindProxy });
  const { status, json } = await register();
  assert.equal(status, 400);
  assert.equal(json.body.error.param, 'IDP_ISSUER');
  assert.equal(json.body.compelete, false);
  // Without `verify` it may be registered, but no browser is redirected to it.
  await register(provider.issuer, '');
  for (let count = 0; count < 3; count++) assert.notEqual((await begin()).status, 303);
  assert.deepEqual(provider.asked, []);
});

test('does not call an issuer on this machine then, in any spelling', async (t) => {
  const { provider, register } = await startWithLocalIssuer(t, { env: behindProxy });
  const { port } = new URL(provider.issuer);
  for (const host of loopbackForms) {
    for (const scheme of ['http', 'https']) {
      assert.equal((await register(`${scheme}://${host}:${port}`)).status, 400, `${scheme}://${host}`);
    }
  }
  assert.deepEqual(provider.asked, []);
});

test('stops calling a registered issuer on this machine when the public URL becomes remote', async (t) => {
  const before = await startWithLocalIssuer(t);
  assert.equal((await before.register()).status, 200);
  assert.equal((await before.begin()).status, 303);
  await before.service.stop();
  before.provider.asked.length = 0;
  const after = await startWithLocalIssuer(t, { env: behindProxy, data: before.data });
  assert.equal((await after.begin()).status, 502);
  assert.deepEqual(before.provider.asked, []);
});

for (const [name, env] of [
  ['there is none', {}],
  ['it is 127.0.0.1', { COUNTERFOIL_PUBLIC_URL: 'http://127.0.0.1:8080' }],
  ['it is localhost', { COUNTERFOIL_PUBLIC_URL: 'http://localhost:8080' }],
  ['it is [::1]', { COUNTERFOIL_PUBLIC_URL: 'http://[::1]:8080' }],
] as const) {
  test(`calls an issuer on this machine when the public URL is local: ${name}`, async (t) => {
    const { register, begin } = await startWithLocalIssuer(t, { env });
    const { status, text } = await register();
    assert.equal(status, 200, text);
    assert.equal((await begin()).status, 303);
  });
}
