import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consoleProofMs } from '../../src/sign-in/limits.ts';
import { userKey } from '../../src/sign-in/types.ts';
import {
  addAdministrator,
  type ConsoleSignInTest,
  comeBack,
  enterConsole,
  exchangeProof,
  goToConsoleCallback,
  removeAdministrator,
  sendFromPage,
  startConsoleSignIn,
  statusOf,
} from '../support/console/administrators.ts';
import { signInToConsole } from '../support/console/sign-in.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { Browser } from '../support/sign-in/browser.ts';

const begin = { provider: 'oidc', name: 'web', view: '' };

test('another browser cannot finish a sign-in to the console, also with a forged state', async (t) => {
  const signing = await startConsoleSignIn(t);
  await add(signing, 'mallory');
  signing.provider.subject = 'mallory';
  const attacker = new Browser();
  const callback = await goToConsoleCallback(signing, attacker);
  const victim = new Browser();
  // A sign-in of the victim's own does not help.
  await goToConsoleCallback(signing, victim);
  const forged = new URL(callback);
  const state = forged.searchParams.get('state') ?? '';
  forged.searchParams.set('state', `${state.slice(0, 10)}${'A'.repeat(43)}`);
  for (const url of [callback, forged.href]) {
    const page = await victim.open(url);
    assert.equal(page.status, 400, page.text);
    assert.match(page.text, /started in another browser/);
    assert.equal((await exchangeProof(signing, victim)).status, 401);
  }
  assert.equal((await attacker.open(callback)).status, 303);
});

test('a proof is exchanged once, also by pages that race, and only for a minute', async (t) => {
  let offset = 0;
  const signing = await startConsoleSignIn(t, { now: () => Date.now() + offset });
  await add(signing, 'ada');
  const browser = new Browser();
  signing.provider.subject = 'ada';
  await comeBack(signing, browser);
  const cookie = browser.cookieHeader(signing.service.origin);
  const replay = () => exchangeProof(signing, new Browser(), { cookie });
  const statuses = await Promise.all([replay(), replay(), replay()].map(async (sent) => (await sent).status));
  assert.deepEqual(statuses.toSorted(), [200, 401, 401]);
  assert.equal((await replay()).status, 401);

  await comeBack(signing, browser);
  offset = consoleProofMs;
  assert.equal((await exchangeProof(signing, browser)).status, 401);
});

test('a proof is worth nothing after the administrator is removed, or the user is deleted', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider, asKey } = signing;
  for (const subject of ['removed', 'deleted']) await add(signing, subject);
  const browsers = { removed: new Browser(), deleted: new Browser() };
  for (const [subject, browser] of Object.entries(browsers)) {
    provider.subject = subject;
    await comeBack(signing, browser);
  }
  await removeAdministrator(service.data, { issuer: provider.issuer, subject: 'removed' });
  const id = userKey({ issuer: provider.issuer, subject: 'deleted' });
  assert.equal((await service.send('DELETE', `/v3/users/${id}`, undefined, asKey)).status, 200);
  assert.equal((await exchangeProof(signing, browsers.removed)).status, 403);
  assert.equal((await exchangeProof(signing, browsers.deleted)).status, 401);
});

test('a page of another origin can neither begin a sign-in to the console, nor exchange a proof, nor ask who may', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service } = signing;
  await add(signing, 'ada');
  signing.provider.subject = 'ada';
  const browser = new Browser();
  await comeBack(signing, browser);
  const foreign: readonly Record<string, string>[] = [
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { origin: 'null', 'sec-fetch-site': 'cross-site' },
    { origin: service.origin, 'sec-fetch-site': 'same-site' },
  ];
  for (const headers of foreign) {
    for (const [target, body] of [
      [['GET', '/console/sign-in'], undefined],
      [['POST', '/console/sign-in'], begin],
      [['POST', '/console/sign-in/session'], undefined],
    ] as const) {
      const sent = { headers, ...(body === undefined ? {} : { body }) };
      const rejected = await sendFromPage(signing, browser, target, sent);
      assert.equal(rejected.status, 403, `${target} ${rejected.text}`);
      assert.equal(rejected.headers.get('access-control-allow-origin'), null);
      assert.deepEqual(rejected.headers.getSetCookie(), []);
    }
  }
  // A form sends no JSON, and a navigation is a GET.
  for (const path of ['/console/sign-in', '/console/sign-in/session'])
    assert.notEqual((await browser.open(`${service.origin}${path}`)).status, 303);
  assert.equal((await exchangeProof(signing, browser)).status, 200, 'the proof has survived');
});

test('the session of one administrator does not accept the token of another', async (t) => {
  const signing = await startConsoleSignIn(t);
  for (const subject of ['ada', 'grace']) await add(signing, subject);
  const [ada, grace] = [await enterConsole(signing, 'ada'), await enterConsole(signing, 'grace')];
  assert.equal(await statusOf(signing, { ...ada, headers: grace.headers }), 403);
  assert.equal(await statusOf(signing, { ...ada, headers: {} }), 401);
  assert.equal(await statusOf(signing, ada), 200);
});

test('a sign-in ends the session of the console that the browser had, with its sign-in', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, asKey } = signing;
  for (const subject of ['ada', 'grace']) await add(signing, subject);
  const withKey = await signInToConsole(service, asKey.authorization?.slice('Bearer '.length) ?? '');
  const browser = new Browser();
  const [name = '', value = ''] = withKey.cookie.split('=');
  browser.setCookie(name, value);
  const ada = await enterConsole(signing, 'ada', browser);
  assert.equal((await service.get('/v3/tables', withKey.headers)).status, 401);
  const cookie = browser.cookieHeader(service.origin);
  await enterConsole(signing, 'grace', browser);
  assert.equal(
    (
      await sendFromPage(signing, new Browser(), ['GET', '/v3/tables'], {
        headers: { ...ada.headers, cookie },
      })
    ).status,
    401,
  );
  const open = (await service.get('/v3/sessions', asKey)).json.body;
  assert.equal(open.length, 1);
});

test('the provider leads back to one origin, so that no other one begins a sign-in; nor does one that the network can read', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service } = signing;
  await add(signing, 'ada');
  const body = JSON.stringify(begin);
  const at = async (host: string) => {
    const headers = { Host: host, Origin: `http://${host}`, 'Content-Type': 'application/json' };
    return exchange(service.origin, requestText(service.origin, 'POST /console/sign-in', headers, body));
  };
  const elsewhere = await at(`localhost:${new URL(service.origin).port}`);
  assert.equal(elsewhere.status, 403);
  assert.ok(elsewhere.json.body.error.message.includes(`${service.origin}/console`));
  const readable = await at('pay.internal');
  assert.equal(readable.status, 403);
  assert.match(readable.json.body.error.message, /https/);
});

test('integrations are offered as soon as there is an administrator, and not before', async (t) => {
  const signing = await startConsoleSignIn(t);
  const offered = async () => {
    const asked = await sendFromPage(signing, new Browser(), ['GET', '/console/sign-in']);
    return asked.body.integrations;
  };
  assert.deepEqual(await offered(), []);
  await add(signing, 'ada');
  assert.deepEqual(await offered(), [{ provider: 'oidc', name: 'web' }]);
});

test('services on two ports of one machine have a session each in one browser', async (t) => {
  const [one, other] = [await startConsoleSignIn(t), await startConsoleSignIn(t)];
  await add(one, 'ada');
  await add(other, 'ada');
  const browser = new Browser();
  const first = await enterConsole(one, 'ada', browser);
  const second = await enterConsole(other, 'ada', browser);
  assert.equal(await statusOf(one, first), 200);
  assert.equal(await statusOf(other, second), 200);
});

function add({ service, provider }: ConsoleSignInTest, subject: string) {
  return addAdministrator(service.data, { issuer: provider.issuer, subject });
}
