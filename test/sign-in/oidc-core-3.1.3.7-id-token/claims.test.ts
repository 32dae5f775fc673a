import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JWTPayload } from 'jose';
import { Browser } from '../../support/sign-in/browser.ts';
import {
  assertRefused,
  assertSignedIn,
  says,
  signIn,
  startSignIn,
} from '../../support/sign-in/signing-in.ts';

/** What an ID token says in the place of the truth. */
const lies: Readonly<Record<string, (honest: JWTPayload) => JWTPayload>> = {
  'another issuer': (honest) => ({ ...honest, iss: 'https://accounts.google.com' }),
  'the issuer with a slash behind it': (honest) => ({ ...honest, iss: `${honest.iss}/` }),
  'no issuer': ({ iss, ...rest }) => rest,
  'another audience': (honest) => ({ ...honest, aud: 'client-2' }),
  'no audience': ({ aud, ...rest }) => rest,
  'an audience beside ours, and no authorized party': (honest) => ({
    ...honest,
    aud: ['client-1', 'client-2'],
  }),
  'another authorized party of two audiences': (honest) => ({
    ...honest,
    aud: ['client-1', 'client-2'],
    azp: 'client-2',
  }),
  'another authorized party of our audience alone': (honest) => ({ ...honest, azp: 'client-2' }),
  'another nonce': (honest) => ({ ...honest, nonce: 'of-another-sign-in' }),
  'no nonce': ({ nonce, ...rest }) => rest,
  'an end in the past': (honest) => ({ ...honest, exp: (honest.iat ?? 0) - 60 }),
  'no end': ({ exp, ...rest }) => rest,
  'an end that is no number': (honest) => ({ ...honest, exp: 'tomorrow' as unknown as number }),
  'no time of issue': ({ iat, ...rest }) => rest,
  'a beginning in the future': (honest) => ({ ...honest, nbf: (honest.iat ?? 0) + 600 }),
  'no subject': ({ sub, ...rest }) => rest,
  'an empty subject': (honest) => ({ ...honest, sub: '' }),
  'a subject that is no text': (honest) => ({ ...honest, sub: 7 as unknown as string }),
  'a subject longer than any may be': (honest) => ({ ...honest, sub: 'x'.repeat(256) }),
  'a subject beyond ASCII': (honest) => ({ ...honest, sub: 'user-\u0000' }),
};

test('takes no ID token that says', async (t) => {
  const signing = await startSignIn(t);
  for (const [name, lie] of Object.entries(lies)) {
    await t.test(name, async () => {
      const browser = new Browser();
      signing.provider.twists = { claims: lie };
      await assertRefused({ ...signing, browser }, await signIn({ ...signing, browser }), says.untrusted);
      signing.provider.twists = {};
      assert.equal((await signIn({ ...signing, browser })).status, 303);
    });
  }
});

test('takes no answer to an exchange without an ID token, or with one that is none', async (t) => {
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
    await assertRefused(signing, await signIn(signing), says.untrusted);
  }
  signing.provider.twists = {};
  assert.equal((await signIn(signing)).status, 303);
});

test('knows a user by issuer and subject, never by the e-mail address', async (t) => {
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
    ids.push(test.browser.cookie('counterfoil-session')?.slice(0, 22));
  }
  assert.notEqual(ids[0], ids[1]);
});

test('takes no userinfo of another subject', async (t) => {
  const signing = await startSignIn(t);
  signing.provider.twists = {
    claims: ({ name, ...rest }) => rest,
    userinfo: (honest) => ({ ...honest, sub: 'user-2' }),
  };
  await assertRefused(signing, await signIn(signing), says.untrusted);
  signing.provider.twists = { claims: ({ name, ...rest }) => rest };
  assert.equal((await signIn(signing)).status, 303);
});

test('leaves out a name, address or picture of no sane shape, and signs in all the same', async (t) => {
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
