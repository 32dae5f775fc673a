import { test } from 'node:test';
import {
  assertRefused,
  assertSignedIn,
  says,
  signIn,
  startSignIn,
} from '../../support/sign-in/signing-in.ts';

/** What clocks may differ by, and room for a sign-in that takes its time. */
const leewaySeconds = 30;

test('takes no ID token that was issued in the future, beyond what clocks differ by', async (t) => {
  const signing = await startSignIn(t);
  for (const seconds of [leewaySeconds + 90, 3_600, 365 * 24 * 3_600]) {
    signing.provider.twists = {
      claims: (honest) => ({
        ...honest,
        iat: (honest.iat ?? 0) + seconds,
        exp: (honest.exp ?? 0) + seconds,
      }),
    };
    await assertRefused(signing, await signIn(signing), says.untrusted);
  }
});

test('takes an ID token of a provider whose clock is a little ahead', async (t) => {
  const signing = await startSignIn(t);
  signing.provider.twists = {
    claims: (honest) => ({ ...honest, iat: (honest.iat ?? 0) + leewaySeconds - 5 }),
  };
  await signIn(signing);
  await assertSignedIn(signing, 'user-1');
});
