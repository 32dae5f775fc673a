import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ScriptedOidc } from '../support/oidc/scripted-oidc.ts';
import { App, isSignedIn, returnUrl } from '../support/sign-in/app.ts';
import { Browser } from '../support/sign-in/browser.ts';
import { goToCallback, register, signIn, signInPath, startSignIn } from '../support/sign-in/signing-in.ts';

const path = '/v3/service/auth/oidc/web';
const fields = { return_urls: [returnUrl] };

/** The issuer of the new registration under the name of a deleted one. */
for (const [name, isOther] of [
  ['the same issuer', false],
  ['another issuer', true],
] as const) {
  test(`an integration registered again with ${name} rejects refresh tokens of the deleted one`, async (t) => {
    const { signing, app, registerAgain } = await start(t, isOther);
    const { origin } = signing.service;
    const landed = await signIn(signing, app.link);
    const { body } = await app.exchange(origin, landed.headers.get('location'));
    await registerAgain();
    assert.equal((await app.refresh(origin, body.refresh_token)).status, 400);
    const again = await signIn(signing, app.link);
    const exchanged = await app.exchange(origin, again.headers.get('location'));
    assert.equal(exchanged.status, 200, exchanged.text);
    assert.equal((await app.refresh(origin, exchanged.body.refresh_token)).status, 200);
  });

  test(`an integration registered again with ${name} rejects codes of the deleted one`, async (t) => {
    const { signing, app, registerAgain } = await start(t, isOther);
    const landed = await signIn(signing, app.link);
    await registerAgain();
    const { status } = await app.exchange(signing.service.origin, landed.headers.get('location'));
    assert.equal(status, 400);
  });

  test(`an integration registered again with ${name} has no sessions`, async (t) => {
    const { signing, registerAgain } = await start(t, isOther);
    const { service, browser } = signing;
    await signIn(signing);
    assert.equal(await isSignedIn(service.origin, browser), true);
    await registerAgain();
    assert.equal(await isSignedIn(service.origin, browser), false);
    await signIn(signing);
    assert.equal(await isSignedIn(service.origin, browser), true);
  });

  test(`an integration registered again with ${name} rejects pending sign-ins of the deleted one`, async (t) => {
    const { signing, registerAgain } = await start(t, isOther);
    // Without `iss` in the callback (RFC 9207), only the service can detect the other issuer.
    signing.provider.twists = {
      discovery: (honest) => ({ ...honest, authorization_response_iss_parameter_supported: false }),
      callback: (honest) => {
        honest.delete('iss');
        return honest;
      },
    };
    const callback = await goToCallback(signing, signInPath);
    const other = await registerAgain();
    other.twists = signing.provider.twists;
    const page = await signing.browser.open(callback);
    assert.equal(page.status, 400, page.text);
    assert.equal(await isSignedIn(signing.service.origin, signing.browser), false);
    // Neither provider receives a code.
    for (const { exchanges } of [signing.provider, other]) assert.equal(exchanges.length, 0);
  });
}

test('deleting an integration ends its sessions, and no others', async (t) => {
  const signing = await startSignIn(t, { fields });
  const { service, browser, provider } = signing;
  await register(service, provider, 'other');
  const stays = new Browser();
  await signIn({ ...signing, browser: stays }, '/v3/auth/oidc/other/sign-in');
  await signIn(signing);
  assert.equal((await service.send('DELETE', path)).status, 200);
  assert.equal(await isSignedIn(service.origin, browser), false);
  assert.equal(await isSignedIn(service.origin, stays), true);
});

test('new credentials of an integration end no session', async (t) => {
  const signing = await startSignIn(t, { fields });
  const { service, provider, browser } = signing;
  const app = new App();
  const landed = await signIn(signing, app.link);
  const { body } = await app.exchange(service.origin, landed.headers.get('location'));
  const rotated = {
    IDP_CLIENT_ID: 'client-1',
    IDP_CLIENT_SECRET: 'secret-2',
    IDP_ISSUER: provider.issuer,
    ...fields,
  };
  assert.equal((await service.send('PUT', path, rotated)).status, 200);
  assert.equal(await isSignedIn(service.origin, browser), true);
  assert.equal((await app.refresh(service.origin, body.refresh_token)).status, 200);
});

async function start(t: TestContext, isOther: boolean) {
  const signing = await startSignIn(t, { fields });
  const registerAgain = async () => {
    const provider = isOther ? await ScriptedOidc.start(t) : signing.provider;
    assert.equal((await signing.service.send('DELETE', path)).status, 200);
    await register(signing.service, provider, 'web', fields);
    return provider;
  };
  return { signing, app: new App(), registerAgain };
}
