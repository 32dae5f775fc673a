import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { Browser } from '../../test/support/sign-in/browser.ts';
import { signIn, startSignIn } from '../../test/support/sign-in/signing-in.ts';
import { Counterfoil, type ReceivedResponse, type TokenStorage } from '../src/index.ts';
import { startFaultyProxy } from './support/faulty-proxy.ts';

const returnUrl = 'https://app.example.com/signed-in?from=counterfoil';
const request = { provider: 'oidc', integration: 'web', returnUrl } as const;

/** A storage whose tokens a test can let expire, as `localStorage` shares it between tabs. */
class SharedStorage implements TokenStorage {
  readonly values = new Map<string, string>();
  getItem = async (key: string) => this.values.get(key) ?? null;
  setItem = async (key: string, value: string) => void this.values.set(key, value);
  removeItem = async (key: string) => void this.values.delete(key);

  expire(): void {
    for (const [key, text] of this.values) {
      if (key.endsWith('tokens')) this.values.set(key, JSON.stringify({ ...JSON.parse(text), expiresAt: 0 }));
    }
  }
}

async function start(t: TestContext) {
  const clock = { aheadMs: 0 };
  const now = () => Date.now() + clock.aheadMs;
  const signingIn = await startSignIn(t, { fields: { return_urls: [returnUrl] }, now });
  const { origin } = signingIn.service;
  const storage = new SharedStorage();
  const responses: ReceivedResponse[] = [];
  const onResponse = (response: ReceivedResponse) => responses.push(response);
  const open = (url = origin) => new Counterfoil({ url, storage, onResponse });
  const client = open();
  /** Follows the link as a browser does. */
  const arrive = async () => {
    const page = await new Browser().follow(await client.signIn.url(request), (url) =>
      url.startsWith(returnUrl),
    );
    assert.ok(page.url.startsWith(returnUrl), page.text);
    return page.url;
  };
  return { origin, storage, responses, open, client, arrive, signingIn, clock };
}

test('signs in to an app on another origin with PKCE, and signs out', async (t) => {
  const { client, origin, arrive, storage } = await start(t);
  assert.equal(await client.signIn.accessToken(), undefined);
  const arrived = await arrive();
  const tokens = await client.signIn.exchange(arrived);
  const { payload } = await jwtVerify(
    tokens.accessToken,
    createRemoteJWKSet(new URL(`${origin}/.well-known/jwks.json`)),
  );
  assert.equal(payload.client_id, 'oidc/web');
  assert.equal(await client.signIn.accessToken(), tokens.accessToken);
  assert.deepEqual(await client.signIn.exchange(arrived), tokens, 'a code is exchanged once');
  await assert.rejects(client.signIn.exchange(returnUrl), { code: 'invalid_request', param: 'code' });
  await client.signIn.signOut();
  assert.equal(await client.signIn.accessToken(), undefined);
  assert.equal(storage.values.size, 0);
  await assert.rejects(client.signIn.exchange(arrived), { code: 'invalid_request', param: 'code_verifier' });
});

test('calls with one code share its exchange, and stay signed in, also if the first of them is aborted', async (t) => {
  const { client, arrive, responses, storage } = await start(t);
  const arrived = await arrive();
  const controller = new AbortController();
  // As React's StrictMode runs an effect: it is cleaned up and run again.
  const exchanging = client.signIn.exchange(arrived, { signal: controller.signal });
  const first = assert.rejects(exchanging, { code: 'aborted' });
  controller.abort();
  const tokens = await Promise.all([client.signIn.exchange(arrived), client.signIn.exchange(arrived)]);
  await first;
  assert.deepEqual(tokens[1], tokens[0]);
  assert.equal(responses.filter(({ url }) => url.endsWith('/token')).length, 1);
  // Another sign-in has begun: the old code must not be sent with its verifier.
  await client.signIn.url(request);
  assert.deepEqual(await client.signIn.exchange(arrived), tokens[0]);
  storage.expire();
  assert.ok(await client.signIn.accessToken(), 'the service has not ended the sign-in');
});

test('two tabs that begin a sign-in both succeed, in either order, and a code without its sign-in is not sent', async (t) => {
  const { open, client, responses, storage } = await start(t);
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const tabs = [open(), open()];
    // Both begin before either has returned.
    const links = await Promise.all(tabs.map((tab) => tab.signIn.url(request)));
    const arrived = links.map((link) =>
      new Browser().follow(link, (url) => url.startsWith(returnUrl)).then(({ url }) => url),
    );
    for (const tab of order) assert.ok(await tabs[tab]?.signIn.exchange((await arrived[tab]) ?? ''));
    assert.deepEqual(
      [...storage.values.keys()].map((key) => key.split(' ').at(-1)),
      ['tokens'],
    );
  }
  await client.signIn.url(request);
  const before = responses.length;
  for (const url of [`${returnUrl}&code=stolen`, `${returnUrl}&code=stolen&state=unknown`])
    await assert.rejects(client.signIn.exchange(url), { code: 'invalid_request', param: 'code_verifier' });
  assert.equal(responses.length, before);
  for (let begun = 0; begun < 20; begun++) await client.signIn.url(request);
  const [pending] = storage.values.entries().filter(([key]) => key.endsWith('pending'));
  assert.equal(JSON.parse(pending?.[1] ?? '').length, 5, 'begun sign-ins that are kept');
});

test('an exchange that failed may be tried again with the same code', async (t) => {
  const { origin, arrive, storage } = await start(t);
  let isDown = true;
  const send = (url: string, init: RequestInit) =>
    isDown ? Promise.reject(new TypeError('down')) : fetch(url, init);
  const client = new Counterfoil({ url: origin, storage, fetch: send });
  const arrived = await arrive();
  await assert.rejects(client.signIn.exchange(arrived), { code: 'network_error' });
  isDown = false;
  assert.ok((await client.signIn.exchange(arrived)).accessToken);
});

test('refreshes once for concurrent calls, also of several tabs', async (t) => {
  const { client, open, arrive, storage, responses, clock } = await start(t);
  const { accessToken } = await client.signIn.exchange(await arrive());
  for (let round = 0; round < 3; round++) {
    storage.expire();
    responses.length = 0;
    // JWTs of the same second may be equal.
    clock.aheadMs += 1_000;
    const tabs = [client, open(), open()];
    const tokens = await Promise.all(
      tabs.flatMap(({ signIn }) => [signIn.accessToken(), signIn.accessToken()]),
    );
    assert.equal(new Set(tokens).size, 1);
    assert.notEqual(tokens[0], accessToken);
    assert.equal(responses.length, 1, 'one refresh');
  }
});

test('a refresh whose response was lost is repeated, and a sign-in that ended is forgotten', async (t) => {
  const { client, open, origin, arrive, storage } = await start(t);
  await client.signIn.exchange(await arrive());
  const tokensText = [...storage.values.values()][0] ?? '';
  const { refreshToken } = JSON.parse(tokensText);
  const proxy = await startFaultyProxy(t, origin);
  // The keys of the storage have the address of the service, so the tokens move to that of the proxy.
  storage.values.set(`counterfoil ${proxy.url} tokens`, tokensText);
  storage.expire();
  let sent = 0;
  proxy.next = () => (sent++ === 0 ? 'lose' : 'pass');
  assert.ok(await open(proxy.url).signIn.accessToken());
  assert.equal(sent, 2);
  // The family ends when its first token is revoked.
  const body = new URLSearchParams({ token: refreshToken });
  await fetch(`${origin}/v3/auth/oidc/web/revoke`, { method: 'POST', body });
  storage.expire();
  assert.equal(await open(proxy.url).signIn.accessToken(), undefined);
  assert.ok(!storage.values.has(`counterfoil ${proxy.url} tokens`));
});

test('returns the session of a browser', async (t) => {
  const { origin, signingIn } = await start(t);
  const { browser } = signingIn;
  const fetchWithCookies = (url: string, init: RequestInit) => {
    const headers = new Headers(init.headers);
    headers.set('cookie', browser.cookieHeader(url));
    return fetch(url, { ...init, headers });
  };
  const client = new Counterfoil({ url: origin, fetch: fetchWithCookies });
  assert.equal(await client.signIn.session(), undefined);
  await signIn(signingIn);
  const session = await client.signIn.session();
  assert.equal(session?.subject, 'user-1');
  assert.match(session.session.expires_at, /^\d{4}-/);
});
