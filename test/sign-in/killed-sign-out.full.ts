import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSignedIn } from '../support/sign-in/app.ts';
import { killAtEachCommit, skip } from '../support/sign-in/kill-drill.ts';
import { prepareSignedIn, type SignedIn, tryToSignOut, whatLives } from '../support/sign-in/signed-in.ts';

test('a sign-out that is killed is complete after the same browser has tried again', { skip }, async (t) => {
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

test('a sign-out that is killed leaves no refresh token good once its session has ended', {
  skip,
}, async (t) => {
  const { data, app, browsers } = await prepareSignedIn(t, 1);
  const [own] = browsers as [SignedIn];
  await killAtEachCommit(t, {
    data,
    act: (origin) => tryToSignOut(origin, own),
    check: async (origin, step) => {
      // The other way round is no harm: who is still signed in can try again.
      if (await isSignedIn(origin, own.browser)) return;
      assert.deepEqual(await whatLives(origin, app, [own]), [], step);
    },
  });
});
