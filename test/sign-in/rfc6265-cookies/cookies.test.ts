import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sessionCookieAt } from '../../../src/http/routes/sign-in.ts';
import { App, returnUrl } from '../../support/sign-in/app.ts';
import { Browser } from '../../support/sign-in/browser.ts';
import {
  assertRejected,
  assertSignedIn,
  goToCallback,
  says,
  signIn,
  signInPath,
  startSignIn,
  whoIs,
} from '../../support/sign-in/signing-in.ts';

test('rejects a session cookie that is missing, duplicated, huge or malformed', async (t) => {
  const signing = await startSignIn(t);
  const name = sessionCookieAt(signing.service.origin);
  await signIn(signing);
  const cookie = signing.browser.cookie(name) ?? '';
  const [user = '', secret = ''] = cookie.split('.');
  const ask = (header: string) => signing.service.get('/v3/auth/session', { cookie: header });
  assert.equal((await ask(`${name}=${cookie}`)).status, 200);
  assert.equal((await ask(`a=b; ${name}=${cookie}; c=d`)).status, 200);
  for (const header of [
    '',
    ';;;=;',
    `${name}=`,
    `${name}`,
    `${name}=${cookie}; ${name}=${cookie}`,
    `${name}=${cookie}; ${name}=x`,
    `${name}=x; ${name}=${cookie}`,
    `${name}="${cookie}"`,
    `${name}=${cookie}x`,
    `${name}=${'x'.repeat(8_000)}`,
    `${name}=${user}.${'A'.repeat(43)}`,
    `${name}=${user}.`,
    `${name}=.${secret}`,
    `${name}=${'A'.repeat(22)}.${secret}`,
    `${name}=${cookie.toUpperCase()}`,
    `${name}=${encodeURIComponent(cookie).replace('.', '%2E')}`,
    `__Host-${name}=${cookie}`,
    `${name.toUpperCase()}=${cookie}`,
    `${name}=../../${cookie}`,
    `x${name}=${cookie}`,
  ]) {
    const { status, json } = await ask(header);
    assert.equal(status, 401, header);
    assert.equal(json.body.error.code, 'unauthenticated');
  }
  assert.equal((await ask(`${name}=${'x'.repeat(20_000)}`)).status, 431);
});

test('rejects a callback whose cookie is missing, duplicated, huge or wrong', async (t) => {
  const signing = await startSignIn(t);
  const name = sessionCookieAt(signing.service.origin);
  const callback = await goToCallback(signing);
  const key = signing.browser.cookieNames[0] ?? '';
  const value = signing.browser.cookie(key) ?? '';
  for (const cookie of [
    '',
    `${key}=`,
    `${key}=${value}; ${key}=${value}`,
    `${key}=x; ${key}=${value}`,
    `${key}=${'x'.repeat(8_000)}`,
    `${key}=${value.slice(1)}`,
    `${key}x=${value}`,
    `${key}=${value}%20`,
  ]) {
    const response = await fetch(callback, { headers: { cookie }, redirect: 'manual' });
    assert.equal(response.status, 400, cookie);
    assert.match(await response.text(), says.otherBrowser.says);
    assert.ok(!response.headers.getSetCookie().some((line) => line.startsWith(name)));
  }
  assert.equal((await signing.browser.open(callback)).status, 303);
});

test('sets a new session secret at each sign-in and never adopts a planted one (session fixation)', async (t) => {
  const signing = await startSignIn(t);
  const name = sessionCookieAt(signing.service.origin);
  const planted = `${'A'.repeat(22)}.${'B'.repeat(43)}`;
  signing.browser.setCookie(name, planted);
  await signIn(signing);
  const first = signing.browser.cookie(name) ?? '';
  assert.notEqual(first, planted);
  const before = await whoIs(signing, signing.browser);
  await signIn(signing);
  const second = signing.browser.cookie(name) ?? '';
  assert.notEqual(second, first);
  // The previous secret is invalid, and the public id of the session stays the same.
  assert.equal((await signing.service.get('/v3/auth/session', { cookie: `${name}=${first}` })).status, 401);
  const after = await whoIs(signing, signing.browser);
  assert.equal(after.body.session.id, before.body.session.id);
});

test('a sign-in as another user ends the previous session', async (t) => {
  const signing = await startSignIn(t);
  const name = sessionCookieAt(signing.service.origin);
  await signIn(signing);
  const first = signing.browser.cookie(name) ?? '';
  const before = await whoIs(signing, signing.browser);
  signing.provider.subject = 'user-2';
  await signIn(signing);
  await assertSignedIn(signing, 'user-2');
  const after = await whoIs(signing, signing.browser);
  assert.notEqual(after.body.session.id, before.body.session.id);
  assert.equal((await signing.service.get('/v3/auth/session', { cookie: `${name}=${first}` })).status, 401);
});

test('sets HttpOnly and SameSite cookies, with Secure and the __Host- prefix over https', async (t) => {
  const env = { COUNTERFOIL_PUBLIC_URL: 'https://id.example.com', COUNTERFOIL_PRIVATE_ISSUERS: '127.0.0.1' };
  const signing = await startSignIn(t, { env });
  const { service, provider } = signing;
  const begun = await fetch(service.origin + signInPath, { redirect: 'manual' });
  const [keyCookie = ''] = begun.headers.getSetCookie();
  assert.match(
    keyCookie,
    /^__Host-counterfoil-sign-in-\w{9}-[\w-]{8}=v2\.[\w.-]{300,600}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
  );
  const approved = await fetch(begun.headers.get('location') ?? '', { redirect: 'manual' });
  const callback = new URL(approved.headers.get('location') ?? '');
  assert.equal(callback.origin, 'https://id.example.com');
  const finished = await fetch(`${service.origin}${callback.pathname}${callback.search}`, {
    redirect: 'manual',
    headers: { cookie: keyCookie.split(';')[0] ?? '' },
  });
  assert.equal(finished.status, 303, await finished.text());
  assert.equal(finished.headers.get('location'), 'https://id.example.com/v3/auth/session');
  const [gone = '', session = ''] = finished.headers.getSetCookie();
  assert.match(gone, /^__Host-counterfoil-sign-in-[\w-]+=; Max-Age=0; /);
  assert.match(
    session,
    /^__Host-counterfoil-session=[\w-]{22}\.[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
  );
  const cookie = (session.split(';')[0] ?? '').replace('__Host-', '');
  assert.equal((await service.get('/v3/auth/session', { cookie })).status, 401);
  assert.equal((await service.get('/v3/auth/session', { cookie: `__Host-${cookie}` })).status, 200);
  assert.equal(provider.exchanges.length, 1);
});

test('a HEAD of the callback returns 405 and does not use the state', async (t) => {
  const signing = await startSignIn(t);
  const callback = await goToCallback(signing);
  const head = await signing.browser.open(callback, { method: 'HEAD' });
  assert.equal(head.status, 405);
  await assertRejected(
    { ...signing, browser: new Browser() },
    await new Browser().open(callback),
    says.otherBrowser,
  );
  assert.equal((await signing.browser.open(callback)).status, 303);
});

test('two services on one host share no cookie: each is signed in and out alone', async (t) => {
  const [one, other] = [await startSignIn(t), await startSignIn(t)];
  // Browsers store cookies by host, not by port.
  const { browser } = one;
  const second = { ...other, browser };
  const [callback, otherCallback] = [await goToCallback(one), await goToCallback(second)];
  assert.equal((await browser.open(callback)).status, 303);
  assert.equal((await browser.open(otherCallback)).status, 303);
  await assertSignedIn(one, 'user-1');
  await assertSignedIn(second, 'user-1');
  const headers = { 'content-type': 'application/json' };
  await browser.open(`${one.service.origin}/v3/auth/sign-out`, { method: 'POST', headers });
  assert.equal((await whoIs(one, browser)).status, 401);
  await assertSignedIn(second, 'user-1');
  // Sign-ins that are begun at one do not push out those at the other.
  const waiting = await goToCallback(one);
  for (let n = 0; n < 12; n++) await goToCallback(second);
  assert.equal((await browser.open(waiting)).status, 303);
});

test('two tabs of one browser that begin a sign-in both finish it, in either order, and at once', async (t) => {
  const signing = await startSignIn(t, { fields: { return_urls: [returnUrl] } });
  const { browser, service } = signing;
  for (const order of ['first', 'second', 'at once'] as const) {
    const apps = [new App(), new App()] as const;
    const tabs = [
      await goToCallback(signing, apps[0].link),
      await goToCallback(signing, apps[1].link),
    ] as const;
    const finish = async (tab: 0 | 1) => {
      const page = await browser.open(tabs[tab]);
      assert.equal(page.status, 303, page.text);
      return apps[tab].exchange(service.origin, page.headers.get('location'));
    };
    const replies =
      order === 'at once'
        ? await Promise.all([finish(0), finish(1)])
        : order === 'first'
          ? [await finish(0), await finish(1)]
          : [await finish(1), await finish(0)];
    for (const { status, body, text } of replies) {
      assert.equal(status, 200, text);
      assert.equal((await apps[0].refresh(service.origin, body.refresh_token)).status, 200, order);
    }
    await assertSignedIn(signing, 'user-1');
  }
});
