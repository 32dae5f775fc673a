import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consoleSessionMsMax } from '../../src/access/console/console-session.ts';
import { sessionCookieAt } from '../../src/http/routes/sign-in.ts';
import { userKey } from '../../src/sign-in/types.ts';
import {
  addAdministrator,
  comeBack,
  enterConsole,
  exchangeProof,
  removeAdministrator,
  sendFromPage,
  startConsoleSignIn,
  statusOf,
} from '../support/console/administrators.ts';
import { logoutToken, sendLogout } from '../support/identity/logout-token.ts';
import { Browser } from '../support/sign-in/browser.ts';
import { signInPath } from '../support/sign-in/signing-in.ts';

const create = ['POST', '/v3/table/books/create'] as const;
const item = { id: 'emma', name: 'Jane Austen' };

test('a named administrator signs in with an integration, and the audit names them by issuer, subject and name', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider, asKey } = signing;
  const ada = { issuer: provider.issuer, subject: 'ada' };
  await addAdministrator(service.data, { ...ada, name: 'Ada Lovelace' });
  await addAdministrator(service.data, { ...ada, subject: 'grace' });
  const browser = new Browser();
  provider.subject = 'ada';
  const back = await comeBack(signing, browser);
  assert.equal(back.status, 303, back.text);
  const view = encodeURIComponent('/console/tables');
  assert.equal(back.headers.get('location'), `${service.origin}/console/signed-in?view=${view}`);
  const exchanged = await exchangeProof(signing, browser);
  assert.equal(exchanged.status, 200, exchanged.text);
  const { mode, key, administrator, scopes, token } = exchanged.body;
  assert.deepEqual([mode, key, scopes], ['administrator', null, ['admin']]);
  assert.deepEqual(administrator, { ...ada, name: 'Ada Lovelace' });
  const port = new URL(service.origin).port;
  const cookies = exchanged.headers.getSetCookie();
  const session = cookies.find((cookie) => cookie.startsWith(`counterfoil-console-${port}=`)) ?? '';
  assert.deepEqual(session.split('; ').slice(1).toSorted(), [
    'HttpOnly',
    `Max-Age=${8 * 3_600}`,
    'Path=/',
    'SameSite=Strict',
  ]);
  const headers = { 'console-token': token };
  const made = await sendFromPage(signing, browser, create, { body: item, headers });
  assert.equal(made.status, 200, made.text);
  assert.equal(
    (await sendFromPage(signing, browser, ['DELETE', '/console/session'], { headers })).status,
    200,
  );
  assert.equal(await statusOf(signing, { browser, token, headers }), 401);
  // Without a name of its own, an administrator has that of the ID token.
  await enterConsole(signing, 'grace');

  const acts = (await service.get('/v3/audit', asKey)).json.body.toReversed();
  const ofAda = acts.filter(({ by }: { by: string }) => by === `administrator:${userKey(ada)}`);
  assert.deepEqual(
    ofAda.map(({ what, on }: { what: string; on: string }) => `${what} ${on}`),
    [
      `console.signed_in administrator:${userKey(ada)}`,
      'console.requested POST /v3/table/books/create',
      `console.signed_out administrator:${userKey(ada)}`,
    ],
  );
  for (const act of ofAda) {
    assert.deepEqual(act.administrator, { ...ada, name: 'Ada Lovelace' });
    assert.match(act.request_id, /^req_/);
  }
  assert.deepEqual(acts.at(-1).administrator, { ...ada, subject: 'grace', name: 'Name of grace' });
  const added = acts.find(({ what }: { what: string }) => what === 'administrator.added');
  assert.deepEqual([added.by, added.on], ['cli', `${provider.issuer} ada`]);
});

test('an administrator may do what a key with the same scopes may', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider } = signing;
  await addAdministrator(service.data, { issuer: provider.issuer, subject: 'reader' }, ['tables:read']);
  const { browser, headers } = await enterConsole(signing, 'reader');
  assert.equal((await sendFromPage(signing, browser, ['GET', '/v3/tables'], { headers })).status, 200);
  for (const target of [create, ['GET', '/v3/audit'], ['GET', '/metrics'], ['GET', '/v3/users']] as const) {
    const rejected = await sendFromPage(signing, browser, target, {
      headers,
      ...(target === create ? { body: item } : {}),
    });
    assert.equal(rejected.status, 403, rejected.text);
    assert.match(rejected.text, /This administrator lacks the scope/);
  }
});

test('a person who is no administrator gets nothing, and sees the issuer and subject to be added by', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider, asKey } = signing;
  await addAdministrator(service.data, { issuer: provider.issuer, subject: 'ada' });
  // The same subject of another issuer is another person.
  await addAdministrator(service.data, { issuer: 'https://elsewhere.example', subject: '<b>mallory</b>' });
  provider.subject = '<b>mallory</b>';
  const browser = new Browser();
  const page = await comeBack(signing, browser);
  assert.equal(page.status, 403);
  assert.match(page.text, /You are not an administrator/);
  assert.ok(page.text.includes(`<code>${provider.issuer}</code>`), page.text);
  assert.ok(page.text.includes('<code>&lt;b&gt;mallory&lt;/b&gt;</code>'), page.text);
  assert.ok(page.text.includes('<code>oidc/web</code>'), page.text);
  assert.deepEqual(browser.cookieNames, []);
  assert.equal((await exchangeProof(signing, browser)).status, 401);
  assert.deepEqual((await service.get('/v3/users', asKey)).json.body, []);
  assert.deepEqual((await service.get('/v3/sessions', asKey)).json.body, []);
});

test('a sign-in to the console is no session of the app, and leaves that of the browser as it is', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider } = signing;
  await addAdministrator(service.data, { issuer: provider.issuer, subject: 'ada' });
  const whoIsIn = async (browser: Browser) => {
    const page = await browser.open(`${service.origin}/v3/auth/session`);
    return JSON.parse(page.text).body.subject;
  };
  const browser = new Browser();
  provider.subject = 'user-1';
  assert.equal((await browser.follow(service.origin + signInPath)).status, 200);
  const before = browser.cookie(sessionCookieAt(service.origin));
  await enterConsole(signing, 'ada', browser);
  assert.equal(browser.cookie(sessionCookieAt(service.origin)), before);
  assert.equal(await whoIsIn(browser), 'user-1');

  // The proof is as long as the secret of a session of the app, and is none, neither before nor after its exchange.
  const other = new Browser();
  await comeBack(signing, other);
  const port = new URL(service.origin).port;
  const proof = other.cookie(`counterfoil-console-proof-${port}`) ?? '';
  assert.match(proof, /^[\w-]{22}\.[\w-]{43}$/);
  const thief = new Browser();
  thief.setCookie(sessionCookieAt(service.origin), proof);
  assert.equal(await whoIsIn(thief), undefined);
  assert.equal((await exchangeProof(signing, other)).status, 200);
  assert.equal(await whoIsIn(thief), undefined);
});

test('the session of an administrator in the app is no session of the console', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider } = signing;
  await addAdministrator(service.data, { issuer: provider.issuer, subject: 'ada' });
  provider.subject = 'ada';
  const browser = new Browser();
  await browser.follow(`${service.origin}${signInPath}?return_to=/console/signed-in`);
  const secret = browser.cookie(sessionCookieAt(service.origin)) ?? '';
  assert.match(secret, /^[\w-]{22}\.[\w-]{43}$/);
  const port = new URL(service.origin).port;
  assert.equal((await exchangeProof(signing, browser)).status, 401);
  browser.setCookie(`counterfoil-console-proof-${port}`, secret);
  assert.equal((await exchangeProof(signing, browser)).status, 401);
  browser.setCookie(`counterfoil-console-${port}`, secret.slice(23));
  assert.equal((await sendFromPage(signing, browser, ['GET', '/console/session'])).status, 401);
});

interface Ending {
  readonly data: string;
  readonly who: { readonly issuer: string; readonly subject: string };
  /** Sends DELETE with an admin key. */
  readonly remove: (path: string) => Promise<void>;
  /** The provider signs the user out. */
  readonly signOut: () => Promise<void>;
}

const endings: Readonly<Record<string, (ending: Ending) => Promise<unknown>>> = {
  'they are removed': ({ data, who }) => removeAdministrator(data, who),
  'they get other scopes': ({ data, who }) => addAdministrator(data, who, ['tables:read']),
  'they are removed and added again': async ({ data, who }) => {
    await removeAdministrator(data, who);
    await addAdministrator(data, who);
  },
  'the user is deleted': ({ remove, who }) => remove(`/v3/users/${userKey(who)}`),
  'an operator ends their sessions': ({ remove, who }) => remove(`/v3/sessions?user=${userKey(who)}`),
  'their provider signs them out': ({ signOut }) => signOut(),
};

test('the session of an administrator ends with everything that it depends on, and no other one does', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider, asKey } = signing;
  const { data, origin } = service;
  const kept = { issuer: provider.issuer, subject: 'kept' };
  await addAdministrator(data, kept);
  const other = await enterConsole(signing, kept.subject);
  const remove = async (path: string) => {
    const removed = await service.send('DELETE', path, undefined, asKey);
    assert.equal(removed.status, 200, removed.text);
  };
  for (const [when, end] of Object.entries(endings)) {
    const who = { issuer: provider.issuer, subject: when };
    await addAdministrator(data, who);
    const session = await enterConsole(signing, when);
    assert.equal(await statusOf(signing, session), 200, when);
    const signOut = async () => {
      const token = await logoutToken(provider, { sub: when });
      assert.equal((await sendLogout(origin, token)).status, 200);
    };
    await end({ data, who, remove, signOut });
    assert.equal(await statusOf(signing, session), 401, when);
    const asked = await sendFromPage(signing, session.browser, ['GET', '/console/session']);
    assert.equal(asked.status, 401, when);
    assert.equal(await statusOf(signing, other), 200, when);
  }
  await remove('/v3/service/auth/oidc/web');
  assert.equal(await statusOf(signing, other), 401, 'the integration is removed');
});

test('another name leaves the session as it is; eight hours end it', async (t) => {
  let offset = 0;
  const signing = await startConsoleSignIn(t, { now: () => Date.now() + offset });
  const { service, provider, asKey } = signing;
  const who = { issuer: provider.issuer, subject: 'ada' };
  await addAdministrator(service.data, who);
  const session = await enterConsole(signing, 'ada');
  await addAdministrator(service.data, { ...who, name: 'Ada' });
  const asked = await sendFromPage(signing, session.browser, ['GET', '/console/session']);
  assert.equal(asked.body.administrator.name, 'Ada');
  offset = consoleSessionMsMax - 60_000;
  assert.equal(await statusOf(signing, session), 200);
  assert.equal((await service.get('/v3/sessions', asKey)).json.body.length, 1);
  offset = consoleSessionMsMax;
  assert.equal(await statusOf(signing, session), 401);
  assert.deepEqual((await service.get('/v3/sessions', asKey)).json.body, []);
});

test('a named administrator makes and ends keys that may do no more, and the audit names the administrator', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider, asKey } = signing;
  const ada = { issuer: provider.issuer, subject: 'ada' };
  await addAdministrator(service.data, ada, ['keys:write', 'tables:read']);
  const { browser, headers } = await enterConsole(signing, 'ada');
  const make = (name: string, scopes: readonly string[]) =>
    sendFromPage(signing, browser, ['POST', '/v3/keys'], { headers, body: { name, scopes } });
  const wide = await make('wide', ['tables:write']);
  assert.deepEqual([wide.status, wide.body.error?.param], [403, 'scopes']);
  const made = await make('narrow', ['tables:read']);
  assert.equal(made.status, 200, made.text);
  const ended = await sendFromPage(signing, browser, ['DELETE', `/v3/keys/${made.body.id}`], { headers });
  assert.equal(ended.body.status, 'revoked', ended.text);
  const { body: acts } = (await service.get('/v3/audit', asKey)).json as { body: Record<string, unknown>[] };
  const ofKey = acts.filter(({ on }) => on === made.body.id);
  assert.deepEqual(
    ofKey.map(({ what, by, administrator }) => [what, by, administrator]),
    ['key.revoked', 'key.created'].map((what) => [
      what,
      `administrator:${userKey(ada)}`,
      { ...ada, name: 'Name of ada' },
    ]),
  );
});
