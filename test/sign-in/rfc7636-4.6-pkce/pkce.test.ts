import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { Browser } from '../../support/sign-in/browser.ts';
import { assertRejected, goToCallback, says, signIn, startSignIn } from '../../support/sign-in/signing-in.ts';

test('sends with every exchange the verifier of its S256 challenge', async (t) => {
  const signing = await startSignIn(t);
  const begun = await signing.browser.open(`${signing.service.origin}/v3/auth/oidc/web/sign-in`);
  const asked = new URL(begun.headers.get('location') ?? '');
  const page = await signing.browser.follow(asked.href, (url) => url.includes('/callback?'));
  assert.equal((await signing.browser.open(page.url)).status, 303);
  const verifier = signing.provider.exchanges[0]?.get('code_verifier') ?? '';
  assert.match(verifier, /^[\w-]{43,128}$/);
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  assert.equal(asked.searchParams.get('code_challenge'), challenge);
  assert.equal(asked.searchParams.get('code_challenge_method'), 'S256');
});

/** RFC 9700, 4.5: the attacker injects the victim's code into their own sign-in. */
test('rejects a code that was injected into another sign-in', async (t) => {
  const signing = await startSignIn(t);
  const attacker = { ...signing, browser: new Browser() };
  const injected = new URL(await goToCallback(attacker));
  injected.searchParams.set('code', new URL(await goToCallback(signing)).searchParams.get('code') ?? '');
  await assertRejected(attacker, await attacker.browser.open(injected.href), says.rejected);
});

test('rejects an injected code by its nonce when the provider ignores PKCE', async (t) => {
  const signing = await startSignIn(t);
  signing.provider.twists = { ignoresPkce: true };
  const attacker = { ...signing, browser: new Browser() };
  const injected = new URL(await goToCallback(attacker));
  injected.searchParams.set('code', new URL(await goToCallback(signing)).searchParams.get('code') ?? '');
  await assertRejected(attacker, await attacker.browser.open(injected.href), says.untrusted);
});

test('uses another verifier, nonce and state for each sign-in', async (t) => {
  const signing = await startSignIn(t);
  const seen = new Set<string>();
  for (let count = 0; count < 3; count++) {
    const { headers } = await signing.browser.open(`${signing.service.origin}/v3/auth/oidc/web/sign-in`);
    const asked = new URL(headers.get('location') ?? '').searchParams;
    for (const name of ['state', 'nonce', 'code_challenge']) seen.add(asked.get(name) ?? '');
    await signIn(signing);
  }
  for (const exchange of signing.provider.exchanges) seen.add(exchange.get('code_verifier') ?? '');
  assert.equal(seen.size, 12);
});
