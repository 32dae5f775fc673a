import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ScriptedOidc } from '../support/oidc/scripted-oidc.ts';
import { between, type Random, randomFrom, seedOf } from '../support/random.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import {
  App,
  isSignedIn,
  publicUrl,
  registerPath,
  returnUrl,
  sendJson,
  signInAt,
  signOut,
} from '../support/sign-in/app.ts';
import { Browser } from '../support/sign-in/browser.ts';
import { credentials } from '../support/sign-in/signing-in.ts';

const isLong = process.env.LONG === '1';
/** Callbacks that arrive during one sign-out everywhere. */
const callbacksAtOnce = 6;
/** About how long a callback takes on an idle machine. */
const staggerMsMax = 12;

for (const workers of [1, 2]) {
  test(`a sign-in during a sign-out everywhere has session and tokens, or neither, in ${workers} processes`, (t) =>
    race(t, workers, isLong ? 1_000 : 60));
}

async function race(t: TestContext, workers: number, rounds: number): Promise<void> {
  const random = randomFrom(seedOf(t));
  const provider = await ScriptedOidc.start(t);
  const env = { COUNTERFOIL_PUBLIC_URL: publicUrl };
  const service = await ServeProcess.start(t, { data: newData(t), env, workers });
  const origin = await service.ready();
  const fields = { ...credentials, IDP_ISSUER: provider.issuer, return_urls: [returnUrl] };
  assert.equal((await sendJson(origin + registerPath, 'POST', fields)).status, 200);
  for (let round = 0; round < rounds; round++) {
    // Each round has its own user, so that the rounds are independent.
    provider.subject = `user-${round}`;
    await raceOnce(origin, random, `round ${round}`);
  }
}

async function raceOnce(origin: string, random: Random, round: string): Promise<void> {
  const app = new App();
  const first = new Browser();
  await signInAt(origin, first, app.link);
  const arriving = await Promise.all(
    Array.from({ length: callbacksAtOnce }, async () => {
      const browser = new Browser();
      const { url } = await browser.follow(origin + app.link, (next) => next.includes('/callback?'));
      return { browser, callback: url.replace(publicUrl, origin) };
    }),
  );
  const afterMs = between(random, 0, staggerMsMax);
  let sentAt = Infinity;
  const ending = sleep(afterMs).then(() => {
    sentAt = performance.now();
    return signOut(origin, first, { everywhere: true });
  });
  const arrived = await Promise.all(
    arriving.map(async ({ browser, callback }) => {
      await sleep(between(random, 0, staggerMsMax));
      const { headers } = await browser.open(callback);
      return { location: headers.get('location'), at: performance.now() };
    }),
  );
  assert.equal((await ending).status, 200, round);
  assert.equal(await isSignedIn(origin, first), false, round);

  for (const [index, { browser }] of arriving.entries()) {
    const { location = null, at = 0 } = arrived[index] ?? {};
    const isHere = await isSignedIn(origin, browser);
    // A sign-in that the sign-out ended before it finished has no code.
    const isInApp = location !== null && (await app.exchange(origin, location)).status === 200;
    assert.equal(isInApp, isHere, `${round}, callback ${index}: session ${isHere}, tokens ${isInApp}`);
    assert.ok(at > sentAt || !isHere, `${round}, callback ${index}: signed in before, and still signed in`);
  }
}
