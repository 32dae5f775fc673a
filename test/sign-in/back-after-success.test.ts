import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sessionCookieAt } from '../../src/http/routes/sign-in.ts';
import { signOut } from '../support/sign-in/app.ts';
import { Browser } from '../support/sign-in/browser.ts';
import {
  assertRejected,
  assertSignedIn,
  goToCallback,
  says,
  signIn,
  signInPath,
  startSignIn,
} from '../support/sign-in/signing-in.ts';

test('Back after a sign-in shows that the user is signed in, and does not sign in again', async (t) => {
  const signing = await startSignIn(t);
  const { browser, provider } = signing;
  const callback = await goToCallback(signing, `${signInPath}?return_to=/books`);
  assert.equal((await browser.open(callback)).status, 303);
  const session = browser.cookie(sessionCookieAt(signing.service.origin));
  for (let count = 0; count < 2; count++) {
    const page = await browser.open(callback);
    assert.equal(page.status, 200, page.text);
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
    assert.match(page.text, /You are signed in/);
    assert.doesNotMatch(page.text, /Try again|This sign-in is over/);
    assert.equal(page.headers.get('cache-control'), 'no-store');
    assert.deepEqual(page.headers.getSetCookie(), []);
  }
  assert.equal(browser.cookie(sessionCookieAt(signing.service.origin)), session);
  assert.equal(provider.exchanges.length, 1);
  await assertSignedIn(signing, 'user-1');
});

test('a used callback shows that page only to the browser that it signed in', async (t) => {
  const signing = await startSignIn(t);
  const callback = await goToCallback(signing);
  assert.equal((await signing.browser.open(callback)).status, 303);
  const stranger = { ...signing, browser: new Browser() };
  const page = await stranger.browser.open(callback);
  await assertRejected(
    stranger,
    page,
    page.text.includes('another browser') ? says.otherBrowser : says.unknownState,
  );
  // After a sign-out the callback is an error.
  await signOut(signing.service.origin, signing.browser);
  assert.equal((await signing.browser.open(callback)).status, 400);
});

test('an invalid callback is rejected also in a browser that is signed in', async (t) => {
  const signing = await startSignIn(t);
  await signIn(signing);
  const callback = new URL(await goToCallback(signing));
  callback.searchParams.set('state', `${callback.searchParams.get('state')?.slice(0, 10)}${'A'.repeat(43)}`);
  const page = await signing.browser.open(callback.href);
  assert.equal(page.status, 400, page.text);
});
