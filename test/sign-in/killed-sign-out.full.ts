import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSignedIn } from '../support/sign-in/app.ts';
import { killAtEachCommit, skip } from '../support/sign-in/kill-drill.ts';
import { prepareSignedIn, type SignedIn, tryToSignOut, whatLives } from '../support/sign-in/signed-in.ts';

test('a killed sign-out is complete after a retry by the same browser', { skip }, async (t) => {
  const { data, app, browsers } = await prepareSignedIn(t, 2);
  const [own, other] = browsers as [SignedIn, SignedIn];
  await killAtEachCommit(t, {
    data,
    act: (origin) => tryToSignOut(origin, own),
    check: async (origin, step) => {
      const retry = await tryToSignOut(origin, own);
      assert.equal(retry?.status, 200, step);
      assert.deepEqual(await whatLives(origin, app, [own]), [], step);
      assert.deepEqual(await whatLives(origin, app, [other]), ['session 0', 'refresh token 0'], step);
    },
  });
});

test('a killed sign-out that has ended the session has revoked its refresh tokens', {
  skip,
}, async (t) => {
  const { data, app, browsers } = await prepareSignedIn(t, 1);
  const [own] = browsers as [SignedIn];
  await killAtEachCommit(t, {
    data,
    act: (origin) => tryToSignOut(origin, own),
    check: async (origin, step) => {
      // A browser that is still signed in can retry.
      if (await isSignedIn(origin, own.browser)) return;
      assert.deepEqual(await whatLives(origin, app, [own]), [], step);
    },
  });
});
