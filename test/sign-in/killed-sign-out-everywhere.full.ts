import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSignedIn } from '../support/sign-in/app.ts';
import { killAtEachCommit, skip } from '../support/sign-in/kill-drill.ts';
import { prepareSignedIn, type SignedIn, tryToSignOut, whatLives } from '../support/sign-in/signed-in.ts';

const everywhere = { everywhere: true };
/** More sessions than one commit can end. */
const manyBrowsers = 90;

for (const count of process.env.LONG === '1' ? [1, 3, manyBrowsers] : [3]) {
  test(`a killed sign-out everywhere ends all ${count} sessions after a retry`, { skip }, (t) =>
    retryAfterKill(t, count),
  );
}

test('a killed sign-out everywhere of 90 browsers ends the session that requested it last', {
  skip,
}, async (t) => {
  const { data, app, browsers } = await prepareSignedIn(t, manyBrowsers);
  const [own, ...others] = browsers as [SignedIn, ...SignedIn[]];
  await killAtEachCommit(t, {
    data,
    act: (origin) => tryToSignOut(origin, own, everywhere),
    check: async (origin, step) => {
      // A browser that is still signed in can retry. One that is not could not end the remaining sessions.
      if (await isSignedIn(origin, own.browser)) return;
      const living = await whatLives(origin, app, [own, ...others]);
      assert.deepEqual(living.slice(0, 6), [], step);
    },
  });
});

async function retryAfterKill(t: Parameters<typeof prepareSignedIn>[0], count: number): Promise<void> {
  const { data, app, browsers } = await prepareSignedIn(t, count);
  const [own] = browsers as [SignedIn];
  await killAtEachCommit(t, {
    data,
    act: (origin) => tryToSignOut(origin, own, everywhere),
    check: async (origin, step) => {
      const retry = await tryToSignOut(origin, own, everywhere);
      assert.ok(retry?.status === 200 || retry?.status === 401, `${step}: ${retry?.text}`);
      // 401 is correct only when no session is left.
      const living = await whatLives(origin, app, browsers);
      assert.deepEqual(living, [], `${step}, retry ${retry.status}`);
    },
  });
}
