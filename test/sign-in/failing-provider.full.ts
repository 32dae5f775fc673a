import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { Browser } from '../support/sign-in/browser.ts';
import {
  assertRejected,
  assertSignedIn,
  goToCallback,
  register,
  type SignInTest,
  says,
  signIn,
  signInPath,
  startSignIn,
} from '../support/sign-in/signing-in.ts';

type Failure = (response: ServerResponse) => void;

const json = { 'content-type': 'application/json' };

/** How a provider may fail. */
const failures: Readonly<Record<string, Failure>> = {
  'is down': (response) => void response.destroy(),
  'returns 500': (response) => void response.writeHead(500).end('oh no'),
  'returns 503 with JSON': (response) => void response.writeHead(503, json).end('{}'),
  redirects: (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  'returns 10 MB': (response) => void response.writeHead(200, json).end(Buffer.alloc(10_000_000, 0x20)),
  'compresses the response without being asked to': (response) =>
    void response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end('{}'),
  'closes the connection within the body': (response) => {
    response.writeHead(200, { ...json, 'content-length': 1_000 });
    response.write('{');
    setImmediate(() => response.destroy());
  },
};

for (const path of ['/.well-known/openid-configuration', '/jwks', '/token']) {
  test(`rejects a sign-in with the reason while ${path} of the provider`, async (t) => {
    const signing = await startSignIn(t);
    for (const [name, failure] of Object.entries(failures)) {
      await t.test(name, () => tryToSignIn(signing, path, failure));
    }
  });
}

let integrations = 0;

/** Uses a new client, so that no metadata of the provider is cached. */
async function tryToSignIn(signing: SignInTest, path: string, failure: Failure): Promise<void> {
  const test = { ...signing, browser: new Browser() };
  const { provider, browser, service } = test;
  const name = `web-${++integrations}`;
  await register(service, provider, name, { IDP_CLIENT_ID: name });
  const link = `/v3/auth/oidc/${name}/sign-in`;
  provider.twists = {
    respond: (asked, response) => {
      if (asked !== path) return false;
      failure(response);
      return true;
    },
  };
  const isFirst = path.startsWith('/.well-known');
  const page = isFirst ? await browser.open(service.origin + link) : await signIn(test, link);
  assert.equal(page.status, 502, page.text);
  const expected = page.text.includes('does not respond') ? says.unreachable : says.rejected;
  await assertRejected(test, page, expected);
  assert.match(page.text, /Try again/);
  provider.twists = {};
  // A failed discovery is cached, so another client is needed.
  const again = isFirst ? `again-${name}` : name;
  if (isFirst) await register(service, provider, again, { IDP_CLIENT_ID: again });
  await signIn(test, `/v3/auth/oidc/${again}/sign-in`);
  await assertSignedIn(test, 'user-1');
}

test('gives up on a slow provider after five seconds', async (t) => {
  const signing = await startSignIn(t);
  const slow = (wanted: string) => (path: string, response: ServerResponse) => {
    if (path !== wanted) return false;
    // A byte now and then does not extend the deadline.
    response.writeHead(200, json);
    const timer = setInterval(() => response.write(' '), 200);
    response.on('close', () => clearInterval(timer));
    return true;
  };
  signing.provider.twists = { respond: slow('/token') };
  const waiting = [signIn(signing)];
  const other = await startSignIn(t);
  other.provider.twists = { respond: slow('/.well-known/openid-configuration') };
  waiting.push(other.browser.open(other.service.origin + signInPath));
  const [first, second] = await Promise.all(waiting);
  assert.ok(first && second);
  await assertRejected(signing, first, says.unreachable);
  await assertRejected(other, second, says.unreachable);
  assert.match(signing.service.logged(), /unreachable: outbound_timeout/);
});

test("finishes concurrent pending sign-ins after a rotation of the provider's keys", async (t) => {
  const signing = await startSignIn(t);
  await signIn(signing);
  const callbacks = [];
  for (let tab = 0; tab < 8; tab++) callbacks.push(await goToCallback(signing));
  await signing.provider.rotate();
  const pages = await Promise.all(callbacks.map((callback) => signing.browser.open(callback)));
  assert.deepEqual(new Set(pages.map(({ status }) => status)), new Set([303]));
  assert.equal(signing.provider.count('/jwks'), 2);
});

test('fetches the key set once for any number of tokens with an unknown key', async (t) => {
  const signing = await startSignIn(t);
  await signIn(signing);
  assert.equal(signing.provider.count('/jwks'), 1);
  const other = await signing.provider.newKey();
  signing.provider.twists = { idToken: (claims) => signing.provider.sign(claims, {}, other) };
  for (let count = 0; count < 5; count++) assert.equal((await signIn(signing)).status, 502);
  assert.equal(signing.provider.count('/jwks'), 2);
});

test('fetches the metadata of a provider once for concurrent sign-ins', async (t) => {
  const signing = await startSignIn(t);
  const begin = () => fetch(signing.service.origin + signInPath, { redirect: 'manual' });
  const responses = await Promise.all(Array.from({ length: 32 }, begin));
  assert.ok(responses.every(({ status }) => status === 303));
  assert.deepEqual(signing.provider.asked, ['/.well-known/openid-configuration']);
});
