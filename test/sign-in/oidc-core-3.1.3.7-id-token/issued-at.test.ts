import { test } from 'node:test';
import {
  assertRejected,
  assertSignedIn,
  says,
  signIn,
  startSignIn,
} from '../../support/sign-in/signing-in.ts';

/** The allowed clock difference, with time for a slow sign-in. */
const leewaySeconds = 30;
const day = 24 * 3_600;

test('rejects an ID token that was issued in the future, beyond the allowed clock difference', async (t) => {
  const signing = await startSignIn(t);
  for (const seconds of [leewaySeconds + 90, 3_600, 365 * 24 * 3_600]) {
    signing.provider.twists = {
      claims: (honest) => ({
        ...honest,
        iat: (honest.iat ?? 0) + seconds,
        exp: (honest.exp ?? 0) + seconds,
      }),
    };
    await assertRejected(signing, await signIn(signing), says.untrusted);
  }
});

test('accepts an ID token of a provider whose clock is a little ahead', async (t) => {
  const signing = await startSignIn(t);
  signing.provider.twists = {
    claims: (honest) => ({ ...honest, iat: (honest.iat ?? 0) + leewaySeconds - 5 }),
  };
  await signIn(signing);
  await assertSignedIn(signing, 'user-1');
});

test('rejects an ID token that was issued too long ago, although it has not expired', async (t) => {
  const signing = await startSignIn(t);
  for (const seconds of [10 * 365 * day, 2 * day]) {
    signing.provider.twists = { claims: (honest) => ({ ...honest, iat: (honest.iat ?? 0) - seconds }) };
    await assertRejected(signing, await signIn(signing), says.untrusted);
  }
  // Some providers date a token back by minutes.
  signing.provider.twists = { claims: (honest) => ({ ...honest, iat: (honest.iat ?? 0) - 10 * 60 }) };
  await signIn(signing);
  await assertSignedIn(signing, 'user-1');
});
