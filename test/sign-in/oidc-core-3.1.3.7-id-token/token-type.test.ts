import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRejected, says, signIn, startSignIn } from '../../support/sign-in/signing-in.ts';

test('rejects a token of another type as an ID token (RFC 8725, 3.11)', async (t) => {
  const signing = await startSignIn(t);
  const { provider } = signing;
  for (const typ of [
    'at+jwt',
    'application/at+jwt',
    'AT+JWT',
    'logout+jwt',
    'secevent+jwt',
    'dpop+jwt',
    'oauth-authz-req+jwt',
  ]) {
    provider.twists = { idToken: (claims) => provider.sign(claims, { typ }) };
    await assertRejected(signing, await signIn(signing), says.untrusted);
  }
});

test('accepts an ID token of the type JWT, in either case, and one without a type', async (t) => {
  const signing = await startSignIn(t);
  const { provider } = signing;
  for (const header of [{ typ: 'JWT' }, { typ: 'jwt' }, {}]) {
    provider.twists = { idToken: (claims) => provider.sign(claims, header) };
    assert.equal((await signIn(signing)).status, 303, JSON.stringify(header));
  }
});
