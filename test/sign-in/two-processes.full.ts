import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScriptedOidc } from '../support/oidc/scripted-oidc.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import {
  App,
  isSignedIn,
  publicUrl,
  registerPath,
  returnUrl,
  sendJson,
  signInAt,
} from '../support/sign-in/app.ts';
import { Browser } from '../support/sign-in/browser.ts';
import { credentials, signInPath } from '../support/sign-in/signing-in.ts';

test('one process finishes a sign-in that another began, and both know the session', async (t) => {
  const provider = await ScriptedOidc.start(t);
  const data = newData(t);
  // Both processes have one public URL, as behind a proxy. The test opens the callback at either.
  const env = { COUNTERFOIL_PUBLIC_URL: 'http://127.0.0.1:1' };
  const first = await (await ServeProcess.start(t, { data, env })).ready();
  const second = await (await ServeProcess.start(t, { data, env })).ready();
  const registered = await fetch(`${first}/v3/create/service/auth/oidc/web`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...credentials, IDP_ISSUER: provider.issuer }),
  });
  assert.equal(registered.status, 200);
  const browser = new Browser();
  const callback = await browser.follow(`${first}/v3/auth/oidc/web/sign-in`, (url) =>
    url.includes('/callback?'),
  );
  const at = (origin: string) => callback.url.replace('http://127.0.0.1:1', origin);
  assert.equal((await browser.open(at(second))).status, 303);
  assert.match((await browser.open(at(first))).text, /You are signed in/);
  const ask = (origin: string) => browser.open(`${origin}/v3/auth/session`);
  for (const origin of [first, second, second]) assert.equal((await ask(origin)).status, 200);
  await browser.open(`${first}/v3/auth/sign-out`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  });
  assert.equal((await ask(second)).status, 401);
});

test('a session that one process ends is ended in the other immediately', async (t) => {
  const provider = await ScriptedOidc.start(t);
  const data = newData(t);
  const env = { COUNTERFOIL_PUBLIC_URL: publicUrl };
  const one = await (await ServeProcess.start(t, { data, env })).ready();
  const other = await (await ServeProcess.start(t, { data, env })).ready();
  const fields = { ...credentials, IDP_ISSUER: provider.issuer, return_urls: [returnUrl] };
  assert.equal((await sendJson(one + registerPath, 'POST', fields)).status, 200);
  const browser = new Browser();
  await signInAt(one, browser, new App().link);
  // Both processes may have cached the session.
  for (const origin of [one, other]) assert.equal(await isSignedIn(origin, browser), true);
  const { status, text } = await sendJson(`${one}/v3/sessions?integration=oidc/web`, 'DELETE');
  assert.equal(status, 200, text);
  for (const origin of [other, one]) assert.equal(await isSignedIn(origin, browser), false);
});

test('accepts a state once across two processes, also concurrently', async (t) => {
  const provider = await ScriptedOidc.start(t);
  const data = newData(t);
  const env = { COUNTERFOIL_PUBLIC_URL: publicUrl };
  const one = await (await ServeProcess.start(t, { data, env })).ready();
  const other = await (await ServeProcess.start(t, { data, env })).ready();
  const fields = { ...credentials, IDP_ISSUER: provider.issuer };
  assert.equal((await sendJson(one + registerPath, 'POST', fields)).status, 200);
  for (let round = 1; round <= (process.env.LONG === '1' ? 200 : 10); round++) {
    const browser = new Browser();
    const { url } = await browser.follow(one + signInPath, (next) => next.includes('/callback?'));
    const headers = { cookie: browser.cookieHeader(url) };
    const sent = [one, other, one, other].map((origin) =>
      fetch(url.replace(publicUrl, origin), { headers, redirect: 'manual' }),
    );
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [303, 400, 400, 400], `round ${round}`);
    assert.equal(provider.exchanges.length, round);
  }
});
