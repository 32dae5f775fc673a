import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { Browser } from '../support/sign-in/browser.ts';
import {
  assertRefused,
  assertSignedIn,
  goToCallback,
  register,
  type SignInTest,
  says,
  signIn,
  signInPath,
  startSignIn,
} from '../support/sign-in/signing-in.ts';

type Illness = (response: ServerResponse) => void;

const json = { 'content-type': 'application/json' };

/** What a provider may do in the place of an answer. */
const illnesses: Readonly<Record<string, Illness>> = {
  'is down': (response) => void response.destroy(),
  'answers 500': (response) => void response.writeHead(500).end('oh no'),
  'answers 503 in JSON': (response) => void response.writeHead(503, json).end('{}'),
  redirects: (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  'answers 10 MB': (response) => void response.writeHead(200, json).end(Buffer.alloc(10_000_000, 0x20)),
  'compresses what nobody asked to be': (response) =>
    void response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end('{}'),
  'breaks off': (response) => {
    response.writeHead(200, { ...json, 'content-length': 1_000 });
    response.write('{');
    setImmediate(() => response.destroy());
  },
};

for (const path of ['/.well-known/openid-configuration', '/jwks', '/token', '/userinfo']) {
  test(`signs nobody in, and says why, while ${path} of the provider`, async (t) => {
    const signing = await startSignIn(t);
    for (const [name, illness] of Object.entries(illnesses)) {
      await t.test(name, () => tryToSignIn(signing, path, illness));
    }
  });
}

let integrations = 0;

/** Each as a client of its own, so that nothing is known of the provider yet. */
async function tryToSignIn(signing: SignInTest, path: string, illness: Illness): Promise<void> {
  const test = { ...signing, browser: new Browser() };
  const { provider, browser, service } = test;
  const name = `web-${++integrations}`;
  await register(service, provider, name, { IDP_CLIENT_ID: name });
  const link = `/v3/auth/oidc/${name}/sign-in`;
  const withoutName =
    path === '/userinfo' ? { claims: ({ name, ...rest }: object & { name?: unknown }) => rest } : {};
  provider.twists = {
    ...withoutName,
    answer: (asked, response) => {
      if (asked !== path) return false;
      illness(response);
      return true;
    },
  };
  const isFirst = path.startsWith('/.well-known');
  const page = isFirst ? await browser.open(service.origin + link) : await signIn(test, link);
  assert.equal(page.status, 502, page.text);
  const expected = page.text.includes('does not respond') ? says.unreachable : says.refused;
  await assertRefused(test, page, expected);
  assert.match(page.text, /Try again/);
  provider.twists = {};
  // For a client whose discovery has failed the provider is not asked again at once.
  const again = isFirst ? `again-${name}` : name;
  if (isFirst) await register(service, provider, again, { IDP_CLIENT_ID: again });
  await signIn(test, `/v3/auth/oidc/${again}/sign-in`);
  await assertSignedIn(test, 'user-1');
}

test('waits for a slow provider five seconds, and no longer', async (t) => {
  const signing = await startSignIn(t);
  const slow = (wanted: string) => (path: string, response: ServerResponse) => {
    if (path !== wanted) return false;
    // A byte now and then keeps no deadline away.
    response.writeHead(200, json);
    const timer = setInterval(() => response.write(' '), 200);
    response.on('close', () => clearInterval(timer));
    return true;
  };
  signing.provider.twists = { answer: slow('/token') };
  const waiting = [signIn(signing)];
  const other = await startSignIn(t);
  other.provider.twists = { answer: slow('/.well-known/openid-configuration') };
  waiting.push(other.browser.open(other.service.origin + signInPath));
  const [first, second] = await Promise.all(waiting);
  assert.ok(first && second);
  await assertRefused(signing, first, says.unreachable);
  await assertRefused(other, second, says.unreachable);
  assert.match(signing.service.logged(), /unreachable: outbound_timeout/);
});

test("signs in across a rotation of the provider's keys, in mid-flow, however many come at once", async (t) => {
  const signing = await startSignIn(t);
  await signIn(signing);
  const callbacks = [];
  for (let tab = 0; tab < 8; tab++) callbacks.push(await goToCallback(signing));
  await signing.provider.rotate();
  const pages = await Promise.all(callbacks.map((callback) => signing.browser.open(callback)));
  assert.deepEqual(new Set(pages.map(({ status }) => status)), new Set([303]));
  assert.equal(signing.provider.count('/jwks'), 2);
});

test('asks for an unknown key no more than once, however many tokens name one', async (t) => {
  const signing = await startSignIn(t);
  await signIn(signing);
  assert.equal(signing.provider.count('/jwks'), 1);
  const other = await signing.provider.newKey();
  signing.provider.twists = { idToken: (claims) => signing.provider.sign(claims, {}, other) };
  for (let count = 0; count < 5; count++) assert.equal((await signIn(signing)).status, 502);
  assert.equal(signing.provider.count('/jwks'), 2);
});

test('learns what a provider says of itself once, however many begin at one moment', async (t) => {
  const signing = await startSignIn(t);
  const begin = () => fetch(signing.service.origin + signInPath, { redirect: 'manual' });
  const answers = await Promise.all(Array.from({ length: 32 }, begin));
  assert.ok(answers.every(({ status }) => status === 303));
  assert.deepEqual(signing.provider.asked, ['/.well-known/openid-configuration']);
});
