import assert from 'node:assert/strict';
import { test } from 'node:test';
import { App, returnUrl } from '../support/sign-in/app.ts';
import { Browser, type Page } from '../support/sign-in/browser.ts';
import {
  assertRejected,
  goToCallback,
  says,
  signInPath,
  startSignIn,
} from '../support/sign-in/signing-in.ts';

const minute = 60_000;
/** The size of a cookie that every browser accepts, with its name and attributes (RFC 6265, 6.1). */
const cookieBytesMax = 4_096;

test('rejects a sign-in cookie that was changed at any place, and accepts the original', async (t) => {
  const signing = await startSignIn(t);
  const callback = await goToCallback(signing);
  const [name = ''] = signInCookies(signing.browser);
  const value = signing.browser.cookie(name) ?? '';
  const places = [0, 1, 5, 20, Math.floor(value.length / 2), value.length - 3, value.length - 2];
  for (const place of places) {
    const other = value[place] === 'A' ? 'B' : 'A';
    const browser = new Browser();
    browser.setCookie(name, value.slice(0, place) + other + value.slice(place + 1));
    const page = await browser.open(callback);
    assert.equal(page.status, 400, `changed at ${place} of ${value.length}`);
  }
  for (const changed of ['', value.slice(1), value.slice(0, -1), `${value}A`, `${value}${value}`]) {
    const browser = new Browser();
    browser.setCookie(name, changed);
    assert.equal(
      (await browser.open(callback)).status,
      400,
      `${changed.length} of ${value.length} characters`,
    );
  }
  assert.equal(signing.provider.exchanges.length, 0);
  assert.equal((await signing.browser.open(callback)).status, 303);
});

test("rejects one tab's cookie for another tab's state, and a cookie under another name", async (t) => {
  const signing = await startSignIn(t);
  const first = await goToCallback(signing);
  const second = await goToCallback(signing);
  const [one = '', other = ''] = signInCookies(signing.browser);
  const [valueOfOne = '', valueOfOther = ''] = [one, other].map((name) => signing.browser.cookie(name));
  const swapped = new Browser();
  swapped.setCookie(one, valueOfOther);
  swapped.setCookie(other, valueOfOne);
  for (const callback of [first, second]) assert.equal((await swapped.open(callback)).status, 400);
  assert.equal(signing.provider.exchanges.length, 0);
  for (const callback of [second, first]) {
    assert.equal((await signing.browser.open(callback)).status, 303);
  }
});

test('rejects the state of a finished sign-in for the lifetime of its cookie', async (t) => {
  let now = Date.now();
  const signing = await startSignIn(t, { now: () => now });
  const callback = await goToCallback(signing);
  const cookie = signing.browser.cookieHeader(callback);
  assert.equal((await signing.browser.open(callback)).status, 303);
  const replay = () => fetch(callback, { headers: { cookie }, redirect: 'manual' });
  for (const passed of [0, minute, 8 * minute, minute, 1, minute]) {
    now += passed;
    assert.equal((await replay()).status, 400);
  }
  // A clock that is set back does not make the state valid again.
  now -= 11 * minute;
  assert.equal((await replay()).status, 400);
  assert.equal(signing.provider.exchanges.length, 1);
});

test('rejects a cookie that is older than ten minutes, and one from the future', async (t) => {
  let now = Date.now();
  const signing = await startSignIn(t, { now: () => now });
  const callback = await goToCallback(signing);
  now += 10 * minute + 1;
  await assertRejected(signing, await signing.browser.open(callback), says.unknownState);
  const later = await goToCallback(signing);
  now -= 11 * minute;
  assert.equal((await signing.browser.open(later)).status, 400);
});

test('sign-in cookies fit into the limits of browsers, and ten of them into one request', async (t) => {
  const signing = await startSignIn(t, { fields: { return_urls: [returnUrl] } });
  const longest = `/${'x'.repeat(1_000)}`;
  const callbacks: string[] = [];
  for (let tab = 0; tab < 12; tab++) {
    const begun = await beginAt(signing.service.origin, signing.browser, longest);
    for (const line of begun.headers.getSetCookie()) {
      assert.ok(Buffer.byteLength(line) <= cookieBytesMax, `${Buffer.byteLength(line)} bytes`);
    }
    const atProvider = begun.headers.get('location') ?? '';
    callbacks.push((await signing.browser.open(atProvider)).headers.get('location') ?? '');
  }
  const finished = await signing.browser.open(callbacks.at(-1) ?? '');
  assert.equal(finished.status, 303, finished.text);
  assert.equal(finished.headers.get('location'), signing.service.origin + longest);
});

test('the sign-in cookie reveals neither the app nor the verifier', async (t) => {
  const signing = await startSignIn(t, { fields: { return_urls: [returnUrl] } });
  await goToCallback(signing, new App().link);
  const [name = ''] = signInCookies(signing.browser);
  const value = signing.browser.cookie(name) ?? '';
  const texts = value.split(/[.~]/).map((part) => Buffer.from(part, 'base64url').toString('latin1'));
  for (const text of [value, ...texts]) assert.doesNotMatch(text, /app\.example|verifier|client-1/);
});

function beginAt(origin: string, browser: Browser, returnTo: string): Promise<Page> {
  return browser.open(`${origin}${signInPath}?return_to=${encodeURIComponent(returnTo)}`);
}

function signInCookies(browser: Browser): string[] {
  return browser.cookieNames.filter((name) => name.includes('counterfoil-sign-in'));
}
