import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { logoutEvent, logoutToken, sendLogout } from '../support/identity/logout-token.ts';
import type { ScriptedOidc } from '../support/oidc/scripted-oidc.ts';
import { livesOf, startForOperators } from '../support/sign-in/operators.ts';
import { credentials } from '../support/sign-in/signing-in.ts';
import { tryToSend } from '../support/try-to-send.ts';

const now = () => Math.floor(Date.now() / 1_000);

/** Invalid claims of a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6). */
const lies: Readonly<Record<string, (provider: ScriptedOidc) => Readonly<Record<string, unknown>>>> = {
  'another issuer': () => ({ iss: 'https://accounts.google.com' }),
  'the issuer with a slash behind it': ({ issuer }) => ({ iss: `${issuer}/` }),
  'no issuer': () => ({ iss: undefined }),
  'another audience': () => ({ aud: 'client-2' }),
  'no audience': () => ({ aud: undefined }),
  'a nonce': () => ({ nonce: 'of-a-sign-in' }),
  'a nonce that is null': () => ({ nonce: null }),
  'no events': () => ({ events: undefined }),
  'no event at all': () => ({ events: {} }),
  'another event': () => ({ events: { 'https://example.com/event': {} } }),
  'an event that is not an object': () => ({ events: { [logoutEvent]: true } }),
  'events that are a list': () => ({ events: [logoutEvent] }),
  'neither subject nor session': () => ({ sub: undefined, sid: undefined }),
  'a subject that is not a string': () => ({ sub: 7 }),
  'a session that is not a string': () => ({ sub: undefined, sid: { a: 1 } }),
  'no token id': () => ({ jti: undefined }),
  'an id that is not a string': () => ({ jti: 7 }),
  'no time of issue': () => ({ iat: undefined }),
  'a time of issue in the future': () => ({ iat: now() + 3_600, exp: now() + 3_720 }),
  'a time of issue ten years ago': () => ({ iat: now() - 10 * 365 * 24 * 3_600 }),
  'an end in the past': () => ({ iat: now() - 600, exp: now() - 300 }),
};

test('rejects a logout token with invalid claims, and ends no session', async (t) => {
  const { origin, provider, person } = await start(t);
  for (const [name, lie] of Object.entries(lies)) {
    const reply = await sendLogout(origin, await logoutToken(provider, lie(provider)));
    assert.equal(reply.status, 400, `${name}: ${reply.text}`);
    assert.match(reply.headers.get('cache-control') ?? '', /no-store/, name);
    assert.equal(await isHere(origin, person), true, name);
  }
  await assertHonestOneWorks(origin, provider, person);
});

test('rejects a logout token that is not signed by a key of the provider', async (t) => {
  const { origin, provider, person } = await start(t);
  const honest = await logoutToken(provider);
  const [header = '', payload = '', signature = ''] = honest.split('.');
  const withHeader = (fields: object) => Buffer.from(JSON.stringify(fields)).toString('base64url');
  const hmac = (key: string) => {
    const signed = `${withHeader({ alg: 'HS256', typ: 'logout+jwt', kid: provider.key.kid })}.${payload}`;
    return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
  };
  const forged = {
    'alg none': `${withHeader({ alg: 'none', typ: 'logout+jwt' })}.${payload}.`,
    'alg none, and the signature': `${withHeader({ alg: 'None' })}.${payload}.${signature}`,
    'no signature': `${header}.${payload}.`,
    'another signature': `${header}.${payload}.${signature.replace(/^./, (letter) => (letter === 'A' ? 'B' : 'A'))}`,
    'the client secret as a key': hmac(credentials.IDP_CLIENT_SECRET),
    'the public key as a secret': hmac(await provider.publicPem()),
    'an unknown key': await logoutToken(provider, {}, { key: await provider.newKey() }),
    'a key under a known name': await logoutToken(
      provider,
      {},
      { key: { ...(await provider.newKey()), kid: provider.key.kid } },
    ),
  };
  for (const [name, token] of Object.entries(forged)) {
    assert.equal((await sendLogout(origin, token)).status, 400, name);
    assert.equal(await isHere(origin, person), true, name);
  }
  await assertHonestOneWorks(origin, provider, person);
});

test('rejects a token of another type', async (t) => {
  const { origin, provider, person } = await start(t);
  for (const typ of ['at+jwt', 'dpop+jwt', 'oauth-authz-req+jwt']) {
    const reply = await sendLogout(origin, await logoutToken(provider, {}, { header: { typ } }));
    assert.equal(reply.status, 400, typ);
  }
  // An ID token has no `events`.
  const idToken = await provider.sign({
    iss: provider.issuer,
    aud: credentials.IDP_CLIENT_ID,
    sub: provider.subject,
    iat: now(),
    exp: now() + 300,
  });
  assert.equal((await sendLogout(origin, idToken)).status, 400);
  assert.equal(await isHere(origin, person), true);
});

test('rejects a malformed logout request, and ends no session', async (t) => {
  const { origin, provider, person } = await start(t);
  const url = `${origin}/v3/auth/oidc/web/back-channel-logout`;
  const token = await logoutToken(provider);
  const form = 'application/x-www-form-urlencoded';
  for (const [type, body] of [
    [form, ''],
    [form, 'logout_token='],
    [form, 'logout_token=x.y.z'],
    [form, `logout_token=${'A'.repeat(20_000)}`],
    [form, `logout_token=${token}&logout_token=${token}`],
    [form, `token=${token}`],
    ['application/json', JSON.stringify({ logout_token: token })],
    ['text/plain', `logout_token=${token}`],
  ] as const) {
    const reply = await tryToSend(url, { method: 'POST', headers: { 'content-type': type }, body });
    assert.ok([400, 413, 415].includes(reply?.status ?? 0), `${type} ${body.slice(0, 40)}: ${reply?.status}`);
  }
  const byQuery = await tryToSend(`${url}?logout_token=${token}`, { method: 'POST' });
  assert.ok([400, 415].includes(byQuery?.status ?? 0), `in the query: ${byQuery?.status}`);
  assert.notEqual((await tryToSend(`${url}?logout_token=${token}`))?.status, 200);
  assert.equal(await isHere(origin, person), true);
  await assertHonestOneWorks(origin, provider, person);
});

type Person = Awaited<ReturnType<typeof start>>['person'];

async function isHere(origin: string, { browser }: Person): Promise<boolean> {
  return (await browser.open(`${origin}/v3/auth/session`)).status === 200;
}

async function assertHonestOneWorks(origin: string, provider: ScriptedOidc, person: Person): Promise<void> {
  const reply = await sendLogout(origin, await logoutToken(provider));
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual(await livesOf(origin, person), [false, false]);
}

async function start(t: TestContext) {
  const { service, signing, enter } = await startForOperators(t);
  return { origin: service.origin, provider: signing.provider, person: await enter('user-1') };
}
