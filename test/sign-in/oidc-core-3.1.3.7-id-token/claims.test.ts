import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JWTPayload } from 'jose';
import { sessionCookieAt } from '../../../src/http/routes/sign-in.ts';
import { Browser } from '../../support/sign-in/browser.ts';
import {
  assertRejected,
  assertSignedIn,
  says,
  signIn,
  startSignIn,
} from '../../support/sign-in/signing-in.ts';

/** Invalid claims of an ID token. */
const lies: Readonly<Record<string, (honest: JWTPayload) => JWTPayload>> = {
  'another issuer': (honest) => ({ ...honest, iss: 'https://accounts.google.com' }),
  'the issuer with a trailing slash': (honest) => ({ ...honest, iss: `${honest.iss}/` }),
  'no issuer': ({ iss, ...rest }) => rest,
  'another audience': (honest) => ({ ...honest, aud: 'client-2' }),
  'no audience': ({ aud, ...rest }) => rest,
  'a second audience, and no authorized party': (honest) => ({
    ...honest,
    aud: ['client-1', 'client-2'],
  }),
  'another authorized party of two audiences': (honest) => ({
    ...honest,
    aud: ['client-1', 'client-2'],
    azp: 'client-2',
  }),
  'another authorized party of our only audience': (honest) => ({ ...honest, azp: 'client-2' }),
  'another nonce': (honest) => ({ ...honest, nonce: 'of-another-sign-in' }),
  'no nonce': ({ nonce, ...rest }) => rest,
  'an expiry in the past': (honest) => ({ ...honest, exp: (honest.iat ?? 0) - 60 }),
  'no expiry': ({ exp, ...rest }) => rest,
  'an expiry that is not a number': (honest) => ({ ...honest, exp: 'tomorrow' as unknown as number }),
  'no time of issue': ({ iat, ...rest }) => rest,
  'a start in the future': (honest) => ({ ...honest, nbf: (honest.iat ?? 0) + 600 }),
  'no subject': ({ sub, ...rest }) => rest,
  'an empty subject': (honest) => ({ ...honest, sub: '' }),
  'a subject that is not a string': (honest) => ({ ...honest, sub: 7 as unknown as string }),
  'a subject that is too long': (honest) => ({ ...honest, sub: 'x'.repeat(256) }),
  'a subject with a control character': (honest) => ({ ...honest, sub: 'user-\u0000' }),
};

test('rejects an ID token with', async (t) => {
  const signing = await startSignIn(t);
  for (const [name, lie] of Object.entries(lies)) {
    await t.test(name, async () => {
      const browser = new Browser();
      signing.provider.twists = { claims: lie };
      await assertRejected({ ...signing, browser }, await signIn({ ...signing, browser }), says.untrusted);
      signing.provider.twists = {};
      assert.equal((await signIn({ ...signing, browser })).status, 303);
    });
  }
});

test('rejects a token response without a valid ID token', async (t) => {
  const signing = await startSignIn(t);
  for (const token of [
    ({ id_token, ...rest }: Record<string, unknown>) => rest,
    (honest: Record<string, unknown>) => ({ ...honest, id_token: 'no.token' }),
    (honest: Record<string, unknown>) => ({ ...honest, id_token: 7 }),
    () => 'not JSON',
    () => [],
    () => ({}),
  ]) {
    signing.provider.twists = { token };
    await assertRejected(signing, await signIn(signing), says.untrusted);
  }
  signing.provider.twists = {};
  assert.equal((await signIn(signing)).status, 303);
});

test('identifies a user by issuer and subject, never by the e-mail address', async (t) => {
  const signing = await startSignIn(t);
  const ids = [];
  for (const subject of ['user-1', 'user-2']) {
    signing.provider.subject = subject;
    signing.provider.twists = {
      claims: (honest) => ({ ...honest, email: 'same@example.com', email_verified: true }),
    };
    const test = { ...signing, browser: new Browser() };
    await signIn(test);
    await assertSignedIn(test, subject);
    ids.push(test.browser.cookie(sessionCookieAt(signing.service.origin))?.slice(0, 22));
  }
  assert.notEqual(ids[0], ids[1]);
});

test('rejects userinfo of another subject', async (t) => {
  const signing = await startSignIn(t);
  signing.provider.twists = {
    claims: ({ name, ...rest }) => rest,
    userinfo: (honest) => ({ ...honest, sub: 'user-2' }),
  };
  await assertRejected(signing, await signIn(signing), says.untrusted);
  signing.provider.twists = { claims: ({ name, ...rest }) => rest };
  assert.equal((await signIn(signing)).status, 303);
});

test('ignores an invalid name, address or picture, and signs in', async (t) => {
  const signing = await startSignIn(t);
  const wild = {
    name: 'x'.repeat(5_000),
    email: { a: 1 },
    email_verified: 'yes',
    picture: 'javascript:alert(1)',
  };
  signing.provider.twists = {
    claims: (honest) => ({ ...honest, ...wild }),
    userinfo: () => ({ sub: 'user-1' }),
  };
  assert.equal((await signIn(signing)).status, 303);
  const { text } = await signing.browser.open(`${signing.service.origin}/v3/auth/session`);
  const { name, email, email_verified: isVerified, picture } = JSON.parse(text).body;
  assert.deepEqual([name, email, isVerified, picture], [undefined, undefined, undefined, undefined]);
});
