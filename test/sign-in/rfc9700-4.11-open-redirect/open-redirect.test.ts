import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redirectUrls, returnUrl } from '../../support/sign-in/redirect-urls.ts';
import {
  assertRejected,
  goToCallback,
  says,
  signInPath,
  startSignIn,
} from '../../support/sign-in/signing-in.ts';

test('redirects only to its own origin, for every unregistered return address', async (t) => {
  assert.ok(redirectUrls.length >= 500, `${redirectUrls.length}`);
  const signing = await startSignIn(t, { fields: { return_urls: [returnUrl] } });
  const { origin } = signing.service;
  let rejected = 0;
  for (const url of redirectUrls) {
    const path = `${signInPath}?return_to=${encodeURIComponent(url)}&code_challenge=${'A'.repeat(43)}&code_challenge_method=S256`;
    const withChallenge = await signing.browser.open(origin + path);
    // An address that is not registered gets no code.
    assert.equal(withChallenge.status, 400, url);
    const plainly = `${signInPath}?return_to=${encodeURIComponent(url)}`;
    const begun = await signing.browser.open(origin + plainly);
    if (begun.status === 400) {
      rejected++;
      assert.match(begun.text, says.returnAddress.says, url);
      continue;
    }
    const end = await signing.browser.open(await goToCallback(signing, plainly));
    assertOwnOrigin(end.headers.get('location') ?? '', origin, url);
  }
  assert.ok(rejected > redirectUrls.length / 2, `${rejected} were rejected`);
});

/** Resolves the location as a browser does, relative to another origin. */
function assertOwnOrigin(location: string, origin: string, url: string): void {
  assert.ok(location.startsWith(`${origin}/`), `${JSON.stringify(url)} leads to ${location}`);
  assert.equal(new URL(location, 'https://elsewhere.example').origin, origin);
  assert.ok(!location.slice(origin.length).startsWith('//'), location);
}

test('rejects a path that browsers and servers may parse differently', async (t) => {
  const signing = await startSignIn(t);
  for (const path of [
    '',
    'a',
    './a',
    '../a',
    '?a',
    '#a',
    '/a\\b',
    '/a\tb',
    '/a b',
    '/\u00e4',
    '//',
    '/..//a',
    '/\u0000',
  ]) {
    const link = `${signInPath}?return_to=${encodeURIComponent(path)}`;
    const page = await signing.browser.open(signing.service.origin + link);
    await assertRejected(signing, page, says.returnAddress);
  }
});

test('redirects to the requested path on its own origin', async (t) => {
  const signing = await startSignIn(t);
  const { origin } = signing.service;
  for (const path of [
    '/',
    '/records',
    '/books?a=1&b=%20',
    '/books/%2F%2Fx',
    '/a//b',
    '/books#part',
    '/~%C3%A9',
  ]) {
    const asked = `${signInPath}?return_to=${encodeURIComponent(path)}`;
    const end = await signing.browser.open(await goToCallback(signing, asked));
    assert.equal(end.headers.get('location'), origin + path);
  }
});

test('rejects a sign-in link with duplicate or unknown parameters', async (t) => {
  const signing = await startSignIn(t);
  for (const query of [
    'return_to=/a&return_to=/b',
    'return_to=/a&next=/b',
    'redirect_uri=/x',
    '__proto__=x',
  ]) {
    const page = await signing.browser.open(`${signing.service.origin}${signInPath}?${query}`);
    await assertRejected(signing, page, { status: 400, says: /<h1>/ });
  }
  assert.equal(signing.provider.asked.length, 0);
});

test('rejects the registration of an ambiguous return URL', async (t) => {
  const signing = await startSignIn(t);
  for (const url of [
    'http://app.example.com/',
    'https://app.example.com',
    'https://APP.example.com/',
    'https://app.example.com:443/',
    'https://app.example.com/a/../b',
    'https://app.example.com\\a',
    'https://user@app.example.com/',
    'https://app.example.com/#part',
    'https://app.example.com/?code=1',
    ' https://app.example.com/',
    'javascript:alert(1)',
    'app.example.com/',
    '//app.example.com/',
    `https://app.example.com/${'x'.repeat(1_024)}`,
    '',
  ]) {
    const fields = {
      IDP_CLIENT_ID: 'a',
      IDP_CLIENT_SECRET: 'b',
      return_urls: ['https://ok.example.com/', url],
    };
    const { status, json } = await signing.service.post('/v3/create/service/auth/google/web', fields);
    assert.equal(status, 400, url);
    assert.equal(json.body.error.param, 'return_urls.1');
    assert.equal(json.body.compelete, false);
  }
});
