import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { Browser } from '../../support/sign-in/browser.ts';
import { assertRefused, goToCallback, says, signIn, startSignIn } from '../../support/sign-in/signing-in.ts';

test('proves with every exchange that it began the sign-in', async (t) => {
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

/** RFC 9700, 4.5: the attacker puts the victim's code into a sign-in of his own. */
test('signs nobody in by a code that was put into another sign-in', async (t) => {
  const signing = await startSignIn(t);
  const attacker = { ...signing, browser: new Browser() };
  const injected = new URL(await goToCallback(attacker));
  injected.searchParams.set('code', new URL(await goToCallback(signing)).searchParams.get('code') ?? '');
  await assertRefused(attacker, await attacker.browser.open(injected.href), says.refused);
});

test('signs nobody in by an injected code where the provider forgets PKCE: the nonce is another', async (t) => {
  const signing = await startSignIn(t);
  signing.provider.twists = { ignoresPkce: true };
  const attacker = { ...signing, browser: new Browser() };
  const injected = new URL(await goToCallback(attacker));
  injected.searchParams.set('code', new URL(await goToCallback(signing)).searchParams.get('code') ?? '');
  await assertRefused(attacker, await attacker.browser.open(injected.href), says.untrusted);
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
