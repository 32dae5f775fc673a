import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { App, isSignedIn, returnUrl } from '../support/sign-in/app.ts';
import { credentials, goToCallback, signIn, startSignIn } from '../support/sign-in/signing-in.ts';

const path = '/v3/service/auth/oidc/web';
const otherUrl = 'https://other.example.com/in';

test('rejects a refresh token whose return URL was removed, also when the URL is added again', async (t) => {
  const { signing, app, allow } = await start(t);
  const { origin } = signing.service;
  const landed = await signIn(signing, app.link);
  const { body } = await app.exchange(origin, landed.headers.get('location'));
  await allow([otherUrl]);
  assert.equal((await app.refresh(origin, body.refresh_token)).status, 400);
  await allow([returnUrl, otherUrl]);
  assert.equal((await app.refresh(origin, body.refresh_token)).status, 400, 'a revoked token stays revoked');
});

test('rejects a code whose return URL was removed', async (t) => {
  const { signing, app, allow } = await start(t);
  const landed = await signIn(signing, app.link);
  await allow([otherUrl]);
  const { status } = await app.exchange(signing.service.origin, landed.headers.get('location'));
  assert.equal(status, 400);
});

test('sends no code to a return URL that was removed during the sign-in', async (t) => {
  const { signing, app, allow } = await start(t);
  const callback = await goToCallback(signing, app.link);
  await allow([]);
  const page = await signing.browser.open(callback);
  assert.equal(page.status, 400, page.headers.get('location') ?? '');
  assert.match(page.text, /is not allowed/);
  assert.equal(await isSignedIn(signing.service.origin, signing.browser), false);
});

test('removing another return URL revokes nothing', async (t) => {
  const { signing, app, allow } = await start(t);
  const { origin } = signing.service;
  const landed = await signIn(signing, app.link);
  const { body } = await app.exchange(origin, landed.headers.get('location'));
  await allow([returnUrl]);
  const refreshed = await app.refresh(origin, body.refresh_token);
  assert.equal(refreshed.status, 200, refreshed.text);
});

async function start(t: TestContext) {
  const signing = await startSignIn(t, { fields: { return_urls: [returnUrl, otherUrl] } });
  const { service, provider } = signing;
  const allow = async (urls: readonly string[]) => {
    const body = { ...credentials, IDP_ISSUER: provider.issuer, return_urls: urls };
    assert.equal((await service.send('PUT', path, body)).status, 200);
  };
  return { signing, app: new App(), allow };
}
