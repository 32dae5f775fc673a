import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sessionCookieAt } from '../../src/http/routes/sign-in.ts';
import { sessionsPerUserMax } from '../../src/sign-in/limits.ts';
import { Browser } from '../support/sign-in/browser.ts';
import {
  assertSignedIn,
  type SignInTest,
  signIn,
  startSignIn,
  whoIs,
} from '../support/sign-in/signing-in.ts';

const day = 24 * 60 * 60 * 1_000;

test('signs out one browser, or all browsers of the user, and no other user', async (t) => {
  const signing = await startSignIn(t);
  const browsers = Array.from({ length: 4 }, () => new Browser());
  for (const browser of browsers) await signIn({ ...signing, browser });
  signing.provider.subject = 'user-2';
  await signIn(signing);
  const [first, second, third, fourth] = browsers as [Browser, Browser, Browser, Browser];
  const secret = first.cookie(sessionCookieAt(signing.service.origin));

  assert.equal((await signOut(signing, first)).status, 200);
  assert.equal(first.cookie(sessionCookieAt(signing.service.origin)), undefined);
  const cookie = `${sessionCookieAt(signing.service.origin)}=${secret}`;
  assert.equal((await signing.service.get('/v3/auth/session', { cookie })).status, 401);
  assert.deepEqual(await statuses(signing, browsers), [401, 200, 200, 200]);

  assert.equal((await signOut(signing, second, { everywhere: false })).status, 200);
  assert.deepEqual(await statuses(signing, browsers), [401, 401, 200, 200]);
  assert.equal((await signOut(signing, third, { everywhere: true })).status, 200);
  assert.deepEqual(await statuses(signing, browsers), [401, 401, 401, 401]);
  await assertSignedIn(signing, 'user-2');
  // A sign-out may be repeated, but one everywhere requires a session.
  assert.equal((await signOut(signing, fourth)).status, 200);
  assert.equal((await signOut(signing, fourth, { everywhere: true })).status, 401);
});

test('signs out everywhere a user who has the maximum number of sessions', async (t) => {
  const signing = await startSignIn(t);
  const browsers = Array.from({ length: sessionsPerUserMax }, () => new Browser());
  await Promise.all(browsers.map((browser) => signIn({ ...signing, browser })));
  await signOut(signing, browsers[0] as Browser, { everywhere: true });
  assert.deepEqual(new Set(await statuses(signing, browsers)), new Set([401]));
});

test('a session ends after a week without use, and after thirty days', async (t) => {
  let now = Date.now();
  const signing = await startSignIn(t, { now: () => now });
  await signIn(signing);
  now += 7 * day;
  // The second read comes from the cache.
  for (let count = 0; count < 2; count++) await assertSignedIn(signing, 'user-1');
  now += 7 * day + 1;
  assert.equal((await whoIs(signing, signing.browser)).status, 401);

  await signIn(signing);
  for (let week = 1; week <= 4; week++) {
    now += 7 * day;
    await assertSignedIn(signing, 'user-1');
  }
  now += 2 * day;
  await assertSignedIn(signing, 'user-1');
  now += 1;
  assert.equal((await whoIs(signing, signing.browser)).status, 401);
});

test('records the last use of a session at most once in five minutes', async (t) => {
  let now = Date.now();
  const signing = await startSignIn(t, { now: () => now });
  await signIn(signing);
  const endsAt = async () => Date.parse((await whoIs(signing, signing.browser)).body.session.expires_at);
  const first = await endsAt();
  now += 5 * 60 * 1_000 - 1;
  assert.equal(await endsAt(), first);
  now += 1;
  assert.equal(await endsAt(), first + 5 * 60 * 1_000);
});

test('accepts a sign-out only from its own origin', async (t) => {
  const signing = await startSignIn(t);
  await signIn(signing);
  const url = `${signing.service.origin}/v3/auth/sign-out`;
  const json = { 'content-type': 'application/json' };
  for (const [headers, status] of [
    [{ 'content-type': 'text/plain' }, 415],
    [{ 'content-type': 'application/x-www-form-urlencoded' }, 415],
    [{ 'content-type': 'application/jsonp' }, 415],
    [{}, 415],
    [{ ...json, origin: 'https://attacker.example' }, 403],
    [{ ...json, origin: 'null' }, 403],
    [{ ...json, origin: signing.provider.issuer }, 403],
    [{ ...json, 'sec-fetch-site': 'cross-site' }, 403],
    [{ ...json, 'sec-fetch-site': 'same-site' }, 403],
  ] as const) {
    const response = await signing.browser.open(url, { method: 'POST', headers, body: '{}' });
    assert.equal(response.status, status, JSON.stringify(headers));
  }
  for (const body of ['{"everywhere":"yes"}', '{"all":true}', '[]', 'true', '{']) {
    assert.equal(
      (await signing.browser.open(url, { method: 'POST', headers: json, body })).status,
      400,
      body,
    );
  }
  await assertSignedIn(signing, 'user-1');
  const ours = { ...json, origin: signing.service.origin, 'sec-fetch-site': 'same-origin' };
  assert.equal((await signing.browser.open(url, { method: 'POST', headers: ours })).status, 200);
});

test('the session response is not cacheable and not readable from other origins', async (t) => {
  const signing = await startSignIn(t);
  await signIn(signing);
  const page = await signing.browser.open(`${signing.service.origin}/v3/auth/session`);
  assert.equal(page.headers.get('cache-control'), 'no-store');
  assert.equal(page.headers.get('access-control-allow-origin'), null);
  const none = await signing.service.get('/v3/auth/session');
  assert.equal(none.headers.get('cache-control'), 'no-store');
});

function signOut({ service }: SignInTest, browser: Browser, body?: unknown) {
  return browser.open(`${service.origin}/v3/auth/sign-out`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function statuses(test: SignInTest, browsers: readonly Browser[]): Promise<number[]> {
  const responses = await Promise.all(browsers.map((browser) => whoIs(test, browser)));
  return responses.map(({ status }) => status);
}
