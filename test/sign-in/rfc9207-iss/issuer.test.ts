import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScriptedOidc } from '../../support/oidc/scripted-oidc.ts';
import {
  assertRejected,
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

test('rejects a callback of another issuer, and exchanges no code', async (t) => {
  const signing = await startSignIn(t);
  for (const issuer of ['https://attacker.example', `${signing.provider.issuer}/`, '']) {
    signing.provider.twists = { callback: (honest) => withIssuer(honest, issuer) };
    await assertRejected(signing, await signIn(signing), says.untrusted);
  }
  assert.equal(signing.provider.exchanges.length, 0);
});

test('rejects a callback without an issuer from a provider that announces the parameter', async (t) => {
  const signing = await startSignIn(t);
  signing.provider.twists = { callback: (honest) => without(honest, 'iss') };
  await assertRejected(signing, await signIn(signing), says.untrusted);
  assert.equal(signing.provider.exchanges.length, 0);
});

test('accepts a callback without an issuer if the provider does not announce it, and rejects another issuer', async (t) => {
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

test('rejects an error response of another issuer', async (t) => {
  const signing = await startSignIn(t);
  signing.provider.twists = {
    callback: (honest) => {
      const parameters = withIssuer(without(honest, 'code'), 'https://attacker.example');
      parameters.set('error', 'access_denied');
      return parameters;
    },
  };
  await assertRejected(signing, await signIn(signing), says.untrusted);
});

/** RFC 9700, 4.4.1: the attacker's provider redirects the browser to the honest one, and the response to itself. */
test('sends no code of one provider to another', async (t) => {
  const signing = await startSignIn(t);
  const attacker = await ScriptedOidc.start(t);
  await register(signing.service, attacker, 'other');
  const callback = await goToCallback(signing);
  const elsewhere = callback.replace('/oidc/web/', '/oidc/other/');
  await assertRejected(signing, await signing.browser.open(elsewhere), says.otherProvider);
  assert.equal(attacker.exchanges.length, 0);
  assert.equal(signing.provider.exchanges.length, 0);
});

test('rejects a pending sign-in whose integration now has another client', async (t) => {
  const signing = await startSignIn(t);
  const callback = await goToCallback(signing);
  const body = { IDP_CLIENT_ID: 'client-2', IDP_CLIENT_SECRET: 'x', IDP_ISSUER: signing.provider.issuer };
  assert.equal((await signing.service.send('PUT', '/v3/service/auth/oidc/web', body)).status, 200);
  await assertRejected(signing, await signing.browser.open(callback), says.otherProvider);
  await signIn(signing);
  await assertSignedIn(signing, 'user-1');
});
