import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RunningProvider, startIdentityProvider } from '../../examples/sign-in/identity-provider.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { Browser } from '../support/sign-in/browser.ts';
import {
  assertRefused,
  credentials,
  goToCallback,
  says,
  signIn,
  signInPath,
  startSignIn,
  whoIs,
} from '../support/sign-in/signing-in.ts';

test('signs in with a real provider, tells who it is, and signs out', async (t) => {
  const { service } = await startWithRealProvider(t);
  const browser = new Browser();
  const landed = await signInAs(browser, `${service.origin}${signInPath}`, 'alice');
  // Without a word of the link, on the answer that says who signed in.
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
  // The provider asks whether its own session ends, too.
  const atProvider = await browser.open(next);
  assert.equal(new URL(next).origin, issuer);
  assert.equal(atProvider.status, 200, atProvider.text);
});

test('signs in where a real provider tells the name at userinfo alone', async (t) => {
  const { service } = await startWithRealProvider(t, { conformIdTokenClaims: true });
  const browser = new Browser();
  const landed = await signInAs(browser, `${service.origin}${signInPath}`, 'bob');
  assert.equal(JSON.parse(landed.text).body.name, 'bob');
});

test('says that nobody is signed in to whoever cancels at a real provider', async (t) => {
  const { service } = await startWithRealProvider(t);
  const browser = new Browser();
  const form = await browser.follow(`${service.origin}${signInPath}?return_to=/books`);
  const cancel = /href="([^"]*abort[^"]*)"/.exec(form.text)?.[1] ?? '';
  const page = await browser.follow(new URL(cancel, form.url).href);
  assert.equal(page.status, 403);
  assert.match(page.text, /did not let you in/);
  // And leads back to where the sign-in was begun, with all that its link said.
  assert.ok(page.text.includes(`href="${service.origin}${signInPath}?return_to=%2Fbooks"`), page.text);
  assert.equal((await whoIs({ service }, browser)).status, 401);
});

test('goes back to a path on its own origin', async (t) => {
  const signing = await startSignIn(t);
  const page = await signIn(signing, `${signInPath}?return_to=${encodeURIComponent('/books?page=2')}`);
  assert.equal(page.status, 303);
  assert.equal(page.headers.get('location'), `${signing.service.origin}/books?page=2`);
  assert.equal(page.headers.get('cache-control'), 'no-store');
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
});

test('asks a warm provider nothing but the exchange', async (t) => {
  const signing = await startSignIn(t);
  await signIn(signing);
  signing.provider.asked.length = 0;
  await signIn(signing);
  assert.deepEqual(signing.provider.asked, ['/authorize', '/token']);
});

test('signs in from several tabs of one browser, whatever the order', async (t) => {
  const signing = await startSignIn(t);
  const callbacks = [];
  for (let tab = 0; tab < 4; tab++) callbacks.push(await goToCallback(signing));
  for (const callback of callbacks.reverse()) {
    assert.equal((await signing.browser.open(callback)).status, 303);
  }
});

test('keeps the sign-ins of one browser to ten, and lets the oldest go', async (t) => {
  const signing = await startSignIn(t);
  const callbacks = [];
  for (let tab = 0; tab < 12; tab++) callbacks.push(await goToCallback(signing));
  assert.equal(signing.browser.cookieNames.length, 10);
  await assertRefused(signing, await signing.browser.open(callbacks[0] as string), says.otherBrowser);
  assert.equal((await signing.browser.open(callbacks.at(-1) as string)).status, 303);
});

test('sends the provider all that protects a sign-in, and the secret alone to the exchange', async (t) => {
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

/** @param more settings of the provider */
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

/** Through the provider's forms: who it is, and that it may be told. */
async function signInAs(browser: Browser, url: string, login: string) {
  const form = await browser.follow(url);
  const consent = await browser.submit(form, { login, password: 'any' });
  return browser.submit(consent, {});
}
