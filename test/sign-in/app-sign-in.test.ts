import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { runCommand } from '../support/command.ts';
import {
  goToCallback,
  type SignInTest,
  signIn,
  signInPath,
  startSignIn,
} from '../support/sign-in/signing-in.ts';

const returnUrl = 'https://app.example.com/signed-in';

/** An app on another origin, with the sign-in link for its return URL. */
async function startApp(t: TestContext) {
  const signing = await startSignIn(t, { fields: { return_urls: [returnUrl] } });
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const query = new URLSearchParams({
    return_to: returnUrl,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  const { service } = signing;
  const token = (fields: object) => service.post('/v3/auth/oidc/web/token', fields);
  const exchange = (location: string | null) =>
    token({
      grant_type: 'authorization_code',
      code: new URL(location ?? '').searchParams.get('code'),
      code_verifier: verifier,
      return_url: returnUrl,
    });
  const refresh = (refreshToken: string) =>
    token({ grant_type: 'refresh_token', refresh_token: refreshToken });
  return { signing, link: `${signInPath}?${query}`, exchange, refresh };
}

function signOut({ service, browser }: SignInTest, body?: object) {
  return browser.open(`${service.origin}/v3/auth/sign-out`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

test('signs a user in to an app on another origin, which verifies the token with the published keys', async (t) => {
  const { signing, link, exchange, refresh } = await startApp(t);
  const { origin } = signing.service;
  const landed = await signIn(signing, link);
  const { status, text, json } = await exchange(landed.headers.get('location'));
  assert.equal(status, 200, text);
  const keys = createRemoteJWKSet(new URL(`${origin}/.well-known/jwks.json`));
  const options = { issuer: origin, audience: 'https://app.example.com', typ: 'at+jwt' };
  const { payload } = await jwtVerify(json.body.access_token, keys, options);
  assert.deepEqual([payload.client_id, payload.provider], ['oidc/web', 'oidc']);
  const next = await refresh(json.body.refresh_token);
  assert.equal(next.status, 200, next.text);

  await signOut(signing);
  assert.equal(
    (await refresh(next.json.body.refresh_token)).status,
    400,
    'a sign-out revokes its refresh tokens',
  );
});

test('a pending sign-in finishes after the master keys were rotated', async (t) => {
  const { signing, link, exchange } = await startApp(t);
  const callback = await goToCallback(signing, link);
  const env = { COUNTERFOIL_DATA: signing.service.data };
  const rotated = await runCommand(['secrets', 'rotate'], env);
  assert.match(rotated.output, /^1 records were put under/, 'the client secret');
  const landed = await signing.browser.open(callback);
  const { status, text } = await exchange(landed.headers.get('location'));
  assert.equal(status, 200, text);
});

test('the app receives its state beside the code, unchanged, also after a retry; no other state is accepted', async (t) => {
  const { signing, link } = await startApp(t);
  const state = "a+b&c=d%20;/?#'~".padEnd(200, 'x');
  const withState = (text: string, of = link) =>
    `${of}${of.includes('?') ? '&' : '?'}state=${encodeURIComponent(text)}`;
  const landed = await signIn(signing, withState(state));
  const { searchParams } = new URL(landed.headers.get('location') ?? '');
  assert.deepEqual([searchParams.getAll('state'), searchParams.getAll('code').length], [[state], 1]);

  const { browser, service } = signing;
  const callback = await goToCallback(signing, withState(state));
  const refused = await browser.open(callback.replace(/code=[^&]*/, 'error=access_denied'));
  const [, again = ''] = refused.text.match(/href="([^"]*state=[^"]*)"/) ?? [];
  assert.equal(new URL(again.replaceAll('&amp;', '&')).searchParams.get('state'), state);

  for (const bad of ['', 'x'.repeat(201), 'a b', 'ä', '\n'])
    assert.equal((await browser.open(service.origin + withState(bad))).status, 400, bad);
  // A page of this origin gets no code.
  assert.equal((await browser.open(service.origin + withState('a', signInPath))).status, 400);
});
