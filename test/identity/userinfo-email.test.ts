import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JWTPayload } from 'jose';
import { signIn, startSignIn, whoIs } from '../support/sign-in/signing-in.ts';

const withoutEmail = ({ email, email_verified, ...rest }: JWTPayload): JWTPayload => rest;

test('reads the e-mail address from userinfo also when the ID token has the name', async (t) => {
  const signing = await startSignIn(t);
  signing.provider.twists = {
    claims: withoutEmail,
    userinfo: (honest) => ({ ...honest, email: 'ursula@userinfo.example', email_verified: true }),
  };
  assert.equal((await signIn(signing)).status, 303);
  const { body } = await whoIs(signing, signing.browser);
  assert.deepEqual(
    [body.name, body.email, body.email_verified],
    ['Ursula Example', 'ursula@userinfo.example', true],
  );
});

test('marks an address as verified only if its own source does', async (t) => {
  const signing = await startSignIn(t);
  // The ID token has an unverified address, and userinfo has another one that is verified.
  signing.provider.twists = {
    claims: ({ name, email_verified, ...rest }) => ({ ...rest, email: 'claimed@example.com' }),
    userinfo: (honest) => ({ ...honest, email: 'own@example.com', email_verified: true }),
  };
  assert.equal((await signIn(signing)).status, 303);
  const { body } = await whoIs(signing, signing.browser);
  const isVerified = body.email_verified === true;
  assert.equal(body.email, isVerified ? 'own@example.com' : 'claimed@example.com');
});

test('does not call userinfo when the ID token has all requested claims', async (t) => {
  const signing = await startSignIn(t);
  await signIn(signing);
  assert.equal(signing.provider.count('/userinfo'), 0);
});

test('does not call userinfo for an e-mail address without the scope', async (t) => {
  const signing = await startSignIn(t, { fields: { scopes: ['openid', 'profile'] } });
  signing.provider.twists = { claims: withoutEmail };
  assert.equal((await signIn(signing)).status, 303);
  assert.equal(signing.provider.count('/userinfo'), 0);
});
