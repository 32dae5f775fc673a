import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScriptedOidc } from '../../support/oidc/scripted-oidc.ts';
import {
  assertRefused,
  assertSignedIn,
  goToCallback,
  register,
  says,
  signIn,
  startSignIn,
} from '../../support/sign-in/signing-in.ts';

const without = (parameters: URLSearchParams, name: string) => {
  parameters.delete(name);
  return parameters;
};
const withIssuer = (parameters: URLSearchParams, issuer: string) => {
  parameters.set('iss', issuer);
  return parameters;
};

test('takes no callback of another issuer, and sends it no code', async (t) => {
  const signing = await startSignIn(t);
  for (const issuer of ['https://attacker.example', `${signing.provider.issuer}/`, '']) {
    signing.provider.twists = { callback: (honest) => withIssuer(honest, issuer) };
    await assertRefused(signing, await signIn(signing), says.untrusted);
  }
  assert.equal(signing.provider.exchanges.length, 0);
});

test('takes no callback without an issuer from a provider that says it tells it', async (t) => {
  const signing = await startSignIn(t);
  signing.provider.twists = { callback: (honest) => without(honest, 'iss') };
  await assertRefused(signing, await signIn(signing), says.untrusted);
  assert.equal(signing.provider.exchanges.length, 0);
});

test('takes a callback without an issuer from a provider that does not tell it, and none of another', async (t) => {
  const signing = await startSignIn(t);
  const discovery = ({
    authorization_response_iss_parameter_supported: _,
    ...rest
  }: Record<string, unknown>) => rest;
  signing.provider.twists = { discovery, callback: (honest) => without(honest, 'iss') };
  assert.equal((await signIn(signing)).status, 303);
  signing.provider.twists = {
    discovery,
    callback: (honest) => withIssuer(honest, 'https://attacker.example'),
  };
  const page = await signIn(signing);
  assert.equal(page.status, 502);
});

test('takes an error of another issuer for no answer of ours', async (t) => {
  const signing = await startSignIn(t);
  signing.provider.twists = {
    callback: (honest) => {
      const told = withIssuer(without(honest, 'code'), 'https://attacker.example');
      told.set('error', 'access_denied');
      return told;
    },
  };
  await assertRefused(signing, await signIn(signing), says.untrusted);
});

/** RFC 9700, 4.4.1: the attacker's provider sends the browser on to the honest one, and the answer back to itself. */
test('gives no code of one provider to another', async (t) => {
  const signing = await startSignIn(t);
  const attacker = await ScriptedOidc.start(t);
  await register(signing.service, attacker, 'other');
  const callback = await goToCallback(signing);
  const elsewhere = callback.replace('/oidc/web/', '/oidc/other/');
  await assertRefused(signing, await signing.browser.open(elsewhere), says.otherProvider);
  assert.equal(attacker.exchanges.length, 0);
  assert.equal(signing.provider.exchanges.length, 0);
});

test('finishes no sign-in whose integration has got another client meanwhile', async (t) => {
  const signing = await startSignIn(t);
  const callback = await goToCallback(signing);
  const body = { IDP_CLIENT_ID: 'client-2', IDP_CLIENT_SECRET: 'x', IDP_ISSUER: signing.provider.issuer };
  assert.equal((await signing.service.send('PUT', '/v3/service/auth/oidc/web', body)).status, 200);
  await assertRefused(signing, await signing.browser.open(callback), says.otherProvider);
  await signIn(signing);
  await assertSignedIn(signing, 'user-1');
});
