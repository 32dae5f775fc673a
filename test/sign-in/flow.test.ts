import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RunningProvider, startIdentityProvider } from '../../examples/support/identity-provider.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { Browser } from '../support/sign-in/browser.ts';
import {
  assertRejected,
  credentials,
  goToCallback,
  says,
  signIn,
  signInPath,
  startSignIn,
  whoIs,
} from '../support/sign-in/signing-in.ts';

test('signs in with a real provider, returns the user, and signs out', async (t) => {
  const { service } = await startWithRealProvider(t);
  const browser = new Browser();
  const landed = await signInAs(browser, `${service.origin}${signInPath}`, 'alice');
  // Without `return_to`, the browser lands on the session.
  assert.equal(landed.url, `${service.origin}/v3/auth/session`);
  const { session, issuer, ...who } = JSON.parse(landed.text).body;
  assert.deepEqual(who, {
    subject: 'alice',
    provider: 'oidc',
    integration: 'web',
    name: 'alice',
    email: 'alice@example.com',
    email_verified: true,
  });
  assert.match(issuer, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.match(session.id, /^ses_[\w-]{22}$/);
  assert.ok(Date.parse(session.expires_at) > Date.parse(session.created_at));

  const signedOut = await browser.open(`${service.origin}/v3/auth/sign-out`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  });
  const { message, sign_out_url: next } = JSON.parse(signedOut.text).body;
  assert.equal(message, 'Signed out');
  assert.equal((await whoIs({ service }, browser)).status, 401);
  // The provider asks whether to end its own session too.
  const atProvider = await browser.open(next);
  assert.equal(new URL(next).origin, issuer);
  assert.equal(atProvider.status, 200, atProvider.text);
});

test('signs in when a real provider returns the name only at userinfo', async (t) => {
  const { service } = await startWithRealProvider(t, { conformIdTokenClaims: true });
  const browser = new Browser();
  const landed = await signInAs(browser, `${service.origin}${signInPath}`, 'bob');
  assert.equal(JSON.parse(landed.text).body.name, 'bob');
});

test('shows a user who cancels at a real provider that they are not signed in', async (t) => {
  const { service } = await startWithRealProvider(t);
  const browser = new Browser();
  const form = await browser.follow(`${service.origin}${signInPath}?return_to=/books`);
  const cancel = /href="([^"]*abort[^"]*)"/.exec(form.text)?.[1] ?? '';
  const page = await browser.follow(new URL(cancel, form.url).href);
  assert.equal(page.status, 403);
  assert.match(page.text, /did not let you in/);
  // The page links to the sign-in again, with the same parameters.
  assert.ok(page.text.includes(`href="${service.origin}${signInPath}?return_to=%2Fbooks"`), page.text);
  assert.equal((await whoIs({ service }, browser)).status, 401);
});

test('redirects to a path on its own origin', async (t) => {
  const signing = await startSignIn(t);
  const page = await signIn(signing, `${signInPath}?return_to=${encodeURIComponent('/books?page=2')}`);
  assert.equal(page.status, 303);
  assert.equal(page.headers.get('location'), `${signing.service.origin}/books?page=2`);
  assert.equal(page.headers.get('cache-control'), 'no-store');
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
});

test('makes only the token request when the metadata of the provider is cached', async (t) => {
  const signing = await startSignIn(t);
  await signIn(signing);
  signing.provider.asked.length = 0;
  await signIn(signing);
  assert.deepEqual(signing.provider.asked, ['/authorize', '/token']);
});

test('signs in from several tabs of one browser, in any order', async (t) => {
  const signing = await startSignIn(t);
  const callbacks = [];
  for (let tab = 0; tab < 4; tab++) callbacks.push(await goToCallback(signing));
  for (const callback of callbacks.reverse()) {
    assert.equal((await signing.browser.open(callback)).status, 303);
  }
});

test('one browser has at most ten pending sign-ins, and the oldest is dropped', async (t) => {
  const signing = await startSignIn(t);
  const callbacks = [];
  for (let tab = 0; tab < 12; tab++) callbacks.push(await goToCallback(signing));
  assert.equal(signing.browser.cookieNames.length, 10);
  await assertRejected(signing, await signing.browser.open(callbacks[0] as string), says.otherBrowser);
  assert.equal((await signing.browser.open(callbacks.at(-1) as string)).status, 303);
});

test('sends state, nonce and PKCE to the provider, and no secret', async (t) => {
  const signing = await startSignIn(t);
  const { service, browser } = signing;
  const begun = await browser.open(service.origin + signInPath);
  assert.equal(begun.status, 303);
  const asked = new URL(begun.headers.get('location') ?? '');
  const parameters = Object.fromEntries(asked.searchParams);
  const { state = '', nonce = '', code_challenge: challenge = '', ...others } = parameters;
  assert.deepEqual(others, {
    client_id: credentials.IDP_CLIENT_ID,
    response_type: 'code',
    redirect_uri: `${service.origin}/v3/auth/oidc/web/callback`,
    scope: 'openid profile email',
    code_challenge_method: 'S256',
  });
  for (const text of [state, nonce, challenge]) assert.match(text, /[\w-]{43}$/);
  assert.equal(new Set([state, nonce, challenge]).size, 3);
  assert.match(begun.headers.get('set-cookie') ?? '', /; Path=\/; HttpOnly; SameSite=Lax$/);
});

/** @param more more settings of the provider */
async function startWithRealProvider(t: import('node:test').TestContext, more: object = {}) {
  const service: TestService = await startTestService(t);
  const provider: RunningProvider = await startIdentityProvider({
    clientId: credentials.IDP_CLIENT_ID,
    clientSecret: credentials.IDP_CLIENT_SECRET,
    redirectUris: [`${service.origin}/v3/auth/oidc/web/callback`],
    more: { ...more },
  });
  t.after(() => provider.close());
  const body = { ...credentials, IDP_ISSUER: provider.issuer };
  const path = '/v3/create/service/auth/oidc/web?verify=true';
  assert.equal((await service.post(path, body)).status, 200);
  return { service, provider };
}

/** Fills in the provider's forms for the login and for the consent. */
async function signInAs(browser: Browser, url: string, login: string) {
  const form = await browser.follow(url);
  const consent = await browser.submit(form, { login, password: 'any' });
  return browser.submit(consent, {});
}
