import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sessionCookieAt } from '../../src/http/routes/sign-in.ts';
import { goToCallback, says, signIn, startSignIn } from '../support/sign-in/signing-in.ts';

test('leaves no credential and no secret in the data folder, the log or a response', async (t) => {
  const canary = 'canary-4711-';
  const signing = await startSignIn(t, { fields: { IDP_CLIENT_SECRET: `${canary}client-secret` } });
  const { service, provider, browser } = signing;
  const tokens: string[] = [];
  provider.twists = {
    token: (honest) => {
      tokens.push(String(honest.id_token).slice(-40));
      return { ...honest, access_token: `${canary}access`, refresh_token: `${canary}refresh` };
    },
  };
  // One sign-in finishes, one stays pending, one fails, and the provider rejects one.
  const callback = new URL(await goToCallback(signing));
  const state = callback.searchParams.get('state') ?? '';
  const browserKeys = browser.cookieNames.map((name) => browser.cookie(name) ?? '');
  assert.equal((await browser.open(callback.href)).status, 303);
  const session = browser.cookie(sessionCookieAt(signing.service.origin)) ?? '';
  const open = new URL(await goToCallback(signing));
  browserKeys.push(...browser.cookieNames.map((name) => browser.cookie(name) ?? ''));
  provider.twists = { ...provider.twists, claims: (honest) => ({ ...honest, nonce: 'x' }) };
  const failed = await signIn(signing);
  assert.match(failed.text, says.untrusted.says);
  provider.twists = { token: () => ({ error: 'x', error_description: `${canary}error` }) };
  const rejected = await signIn(signing);
  const shown = await browser.open(`${service.origin}/v3/auth/session`);
  assert.equal(shown.status, 200);
  await service.stop();

  const secrets = [
    canary,
    ...tokens,
    ...browserKeys,
    state.slice(10),
    (open.searchParams.get('state') ?? '').slice(10),
    session.slice(23),
    ...[callback, open].map(({ searchParams }) => searchParams.get('code') ?? ''),
    ...provider.exchanges.map((exchange) => exchange.get('code_verifier') ?? ''),
  ];
  assert.ok(secrets.length >= 12 && secrets.every((secret) => secret.length >= 12));
  const files = readdirSync(service.data).map((name) => readFileSync(join(service.data, name), 'latin1'));
  const places = [...files, service.logged(), failed.text, rejected.text, shown.text];
  assert.ok(
    places.some((text) => text.includes('Ursula Example')),
    'the search does not find a stored value',
  );
  for (const secret of secrets) {
    for (const form of [secret, encodeURIComponent(secret), ...encoded(secret)]) {
      assert.ok(!places.some((text) => text.includes(form)), `${secret} is found as ${form}`);
    }
  }
});

function encoded(secret: string): string[] {
  return (['base64', 'base64url', 'hex'] as const).map((form) =>
    Buffer.from(secret).toString(form).slice(0, -4),
  );
}
