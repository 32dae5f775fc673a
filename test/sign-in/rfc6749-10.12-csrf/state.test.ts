import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Browser } from '../../support/sign-in/browser.ts';
import {
  assertRejected,
  assertSignedIn,
  callbackPath,
  goToCallback,
  says,
  signIn,
  startSignIn,
} from '../../support/sign-in/signing-in.ts';

test('rejects the callback of another browser (login CSRF), which can still use it', async (t) => {
  const signing = await startSignIn(t);
  const attackers = await goToCallback(signing);
  const victim = { ...signing, browser: new Browser() };
  await assertRejected(victim, await victim.browser.open(attackers), says.otherBrowser);
  // A pending sign-in of the victim does not help the attacker.
  await goToCallback(victim);
  await assertRejected(victim, await victim.browser.open(attackers), says.otherBrowser);
  assert.equal(signing.provider.exchanges.length, 0);
  assert.equal((await signing.browser.open(attackers)).status, 303);
});

test('accepts a state once, also when its callback is opened several times concurrently', async (t) => {
  const signing = await startSignIn(t);
  const callback = await goToCallback(signing);
  const headers = { cookie: signing.browser.cookieHeader(callback) };
  const send = () => fetch(callback, { headers, redirect: 'manual' });
  const statuses = (await Promise.all(Array.from({ length: 16 }, send))).map(({ status }) => status);
  assert.deepEqual(
    statuses.toSorted((one, other) => one - other),
    [303, ...Array(15).fill(400)],
  );
  assert.equal(signing.provider.exchanges.length, 1);
  assert.equal((await send()).status, 400);
});

test('rejects a state that it did not issue', async (t) => {
  const signing = await startSignIn(t);
  const callback = new URL(await goToCallback(signing));
  const state = callback.searchParams.get('state') ?? '';
  const stamp = state.slice(0, 9);
  for (const [forged, expected] of [
    [`${stamp}.${'A'.repeat(43)}`, says.otherBrowser],
    [`000000000.${state.slice(10)}`, says.unknownState],
    [`${state.slice(0, -1)}${state.endsWith('A') ? 'E' : 'A'}`, says.otherBrowser],
    [`${state}A`, says.callback],
    [state.slice(0, -1), says.callback],
    ['', says.callback],
    ['x'.repeat(7_000), says.callback],
    ['service:sessions', says.callback],
    ['\u0000', says.callback],
  ] as const) {
    callback.searchParams.set('state', forged);
    await assertRejected(signing, await signing.browser.open(callback.href), expected);
  }
  assert.equal(signing.provider.exchanges.length, 0);
  callback.searchParams.set('state', state);
  assert.equal((await signing.browser.open(callback.href)).status, 303);
});

test('rejects a callback without a state or with a duplicate parameter', async (t) => {
  const signing = await startSignIn(t);
  const callback = await goToCallback(signing);
  const bare = signing.service.origin + callbackPath;
  for (const address of [
    bare,
    `${bare}?code=abc`,
    `${callback}&state=${new URL(callback).searchParams.get('state')}`,
    `${callback}&code=another`,
    `${callback}&iss=${signing.provider.issuer}`,
    `${callback}&error=access_denied&error=x`,
  ]) {
    await assertRejected(signing, await signing.browser.open(address), says.callback);
  }
  await signing.browser.open(callback);
  await assertSignedIn(signing, 'user-1');
});

test('rejects a state that is older than ten minutes', async (t) => {
  let now = Date.now();
  const signing = await startSignIn(t, { now: () => now });
  const callback = await goToCallback(signing);
  now += 10 * 60 * 1_000 + 1;
  await assertRejected(signing, await signing.browser.open(callback), says.unknownState);
  const inTime = await goToCallback(signing);
  now += 10 * 60 * 1_000;
  assert.equal((await signing.browser.open(inTime)).status, 303);
});

test('shows its own message for an error of the provider, and repeats none of its text', async (t) => {
  const signing = await startSignIn(t);
  const canary = '<script>alert(1)</script>"onload=x';
  for (const [error, expected] of [
    ['access_denied', says.denied],
    ['login_required', says.denied],
    ['server_error', says.rejected],
    ['invalid_scope', says.rejected],
    [canary, says.rejected],
  ] as const) {
    signing.provider.twists = {
      callback: (honest) =>
        new URLSearchParams({
          state: honest.get('state') ?? '',
          iss: honest.get('iss') ?? '',
          error,
          error_description: canary,
          error_uri: `javascript:${canary}`,
        }),
    };
    const page = await signIn(
      signing,
      `/v3/auth/oidc/web/sign-in?return_to=${encodeURIComponent("/a'b&c=%22")}`,
    );
    await assertRejected(signing, page, expected);
    assert.ok(!/<script|onload|javascript:/.test(page.text), page.text);
  }
  assert.ok(!signing.service.logged().includes('alert(1)'));
});

test('escapes the link to try again', async (t) => {
  const signing = await startSignIn(t);
  const query = `return_to=${encodeURIComponent(`/a'b"<i>&c`)}&code_challenge=${'x'.repeat(3)}`;
  const page = await signing.browser.open(`${signing.service.origin}/v3/auth/oidc/web/sign-in?${query}`);
  assert.equal(page.status, 400);
  assert.ok(!/<i>|"\/a'|&code_challenge/.test(page.text), page.text);
  signing.provider.twists = {
    callback: (honest) => new URLSearchParams([...honest, ['error', 'access_denied']]),
  };
  const denied = await signIn(signing, '/v3/auth/oidc/web/sign-in?return_to=%2Fa%26b');
  assert.ok(denied.text.includes('?return_to=%2Fa%26b"'), denied.text);
});

test('the error page is complete, has no scripts and loads nothing', async (t) => {
  const signing = await startSignIn(t);
  const page = await signing.browser.open(signing.service.origin + callbackPath);
  assert.match(page.text, /^<!doctype html>\n<html lang="en">/);
  assert.match(page.text, /<title>[^<]+<\/title>/);
  assert.equal(page.text.match(/<h1>/g)?.length, 1);
  assert.match(page.text, /<p role="alert">[^<]+<\/p>/);
  assert.match(
    page.text,
    new RegExp(`<a href="${signing.service.origin}/v3/auth/oidc/web/sign-in">Try again</a>`),
  );
  const policy = page.headers.get('content-security-policy') ?? '';
  assert.match(policy, /^default-src 'none'; style-src 'sha256-[\w+/=]+'; /);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.equal(page.headers.get('cache-control'), 'no-store');
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
  assert.ok(!/<script|<img|<link|@import|url\(/.test(page.text));
});
