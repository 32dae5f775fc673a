import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bearing, everyScope, newKey } from '../support/access/keys.ts';
import {
  addAdministrator,
  approve,
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
import { assertError } from '../support/http/error-response.ts';
import { ScriptedOidc } from '../support/oidc/scripted-oidc.ts';
import { startTestService } from '../support/service.ts';
import { Browser } from '../support/sign-in/browser.ts';
import { credentials } from '../support/sign-in/signing-in.ts';

const approvalPath = '/v3/service/auth/oidc/web/approval';

/** Tries to sign in to the console as a subject, through an integration. @returns the statuses of its steps that were reached */
async function tryAs(signing: ConsoleSignInTest, name: string, subject = 'ada'): Promise<readonly number[]> {
  const browser = new Browser();
  signing.provider.subject = subject;
  const body = { provider: 'oidc', name, view: '' };
  const begun = await sendFromPage(signing, browser, ['POST', '/console/sign-in'], { body });
  if (begun.status !== 200) return [begun.status];
  const page = await browser.follow(begun.body.authorization_url, (url) => url.includes('/callback?'));
  const back = await browser.open(page.url);
  return [200, back.status, (await exchangeProof(signing, browser)).status];
}

test('a holder of integrations:write becomes no administrator by an integration of the same issuer with a client of their own', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider } = signing;
  await addAdministrator(service.data, { issuer: provider.issuer, subject: 'ada' });
  const mallory = bearing(await newKey(service.data, { name: 'mallory', scopes: ['integrations:write'] }));
  const own = { IDP_CLIENT_ID: 'client-of-mallory', IDP_CLIENT_SECRET: 'x', IDP_ISSUER: provider.issuer };
  const added = await service.post('/v3/create/service/auth/oidc/mallory', own, mallory);
  assert.equal(added.status, 200, added.text);
  assert.deepEqual(await tryAs(signing, 'web'), [200, 303, 200], 'Ada signs in');
  assert.deepEqual(await tryAs(signing, 'mallory'), [403]);

  const replaced = await service.send('PUT', '/v3/service/auth/oidc/web', own, mallory);
  assert.equal(replaced.status, 200, replaced.text);
  assert.deepEqual(await tryAs(signing, 'web'), [403], 'the client is replaced in place');

  const removed = await service.send('DELETE', '/v3/service/auth/oidc/web', undefined, mallory);
  assert.equal(removed.status, 200, removed.text);
  await service.post('/v3/create/service/auth/oidc/web', own, mallory);
  assert.deepEqual(await tryAs(signing, 'web'), [403], 'it is registered anew under its name');
});

test('an administrator is bound to one registration: another approved one of the same issuer proves nothing', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider, asKey } = signing;
  const partner = { IDP_CLIENT_ID: 'client-of-partner', IDP_CLIENT_SECRET: 'x', IDP_ISSUER: provider.issuer };
  await service.post('/v3/create/service/auth/oidc/partner', partner, asKey);
  await approve(service, provider, asKey, ['partner', 'client-of-partner']);
  const who = (subject: string) => ({ issuer: provider.issuer, subject });
  await addAdministrator(service.data, who('ada'));
  await addAdministrator(service.data, who('grace'), ['tables:read'], 'oidc/partner');
  assert.deepEqual(await tryAs(signing, 'web', 'ada'), [200, 303, 200]);
  assert.deepEqual(await tryAs(signing, 'partner', 'ada'), [200, 403, 401]);
  assert.deepEqual(await tryAs(signing, 'partner', 'grace'), [200, 303, 200]);
  assert.deepEqual(await tryAs(signing, 'web', 'grace'), [200, 403, 401]);
});

test('the page offers the approved integrations that administrators are bound to, and no other ones', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider, asKey } = signing;
  const offered = async () =>
    (await sendFromPage(signing, new Browser(), ['GET', '/console/sign-in'])).body.integrations;
  await addAdministrator(service.data, { issuer: provider.issuer, subject: 'ada' });
  await addAdministrator(service.data, { issuer: provider.issuer, subject: 'grace' });
  const other = { IDP_CLIENT_ID: 'other', IDP_CLIENT_SECRET: 'x', IDP_ISSUER: provider.issuer };
  for (const name of ['a', 'zzz']) await service.post(`/v3/create/service/auth/oidc/${name}`, other, asKey);
  await approve(service, provider, asKey, ['zzz', 'other']);
  assert.deepEqual(await offered(), [{ provider: 'oidc', name: 'web' }]);
  await service.send('DELETE', approvalPath, undefined, asKey);
  assert.deepEqual(await offered(), []);
});

test('an approval names the client that was checked, and needs the scope admin', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider, asKey } = signing;
  const { issuer } = provider;
  const shown = async () => (await service.get('/v3/service/auth/oidc/web', asKey)).json.body;
  const since = (await shown()).console_approved_at;
  assert.ok(Date.parse(since) <= Date.now());
  const again = await approve(service, provider, asKey);
  assert.equal(again.json.body.console_approved_at, since, 'an approval that stands stays as it is');
  await service.send('DELETE', approvalPath, undefined, asKey);
  assert.equal((await shown()).console_approved_at, null);
  for (const [body, param] of [
    [{ client_id: 'client-of-mallory', issuer }, 'client_id'],
    [{ client_id: 'client-1', issuer: 'https://elsewhere.example' }, 'issuer'],
    [{ client_id: 'client-1' }, 'issuer'],
  ] as const) {
    const refused = await service.send('PUT', approvalPath, body, asKey);
    assertError(refused, { status: 412, code: 'precondition_failed', param });
  }
  const unknown = await service.send('PUT', approvalPath.replace('web', 'none'), { client_id: 'a' }, asKey);
  assertError(unknown, { status: 404, code: 'integration_not_found', param: 'INTEGRATION_NAME' });
  const key = await newKey(service.data, { scopes: everyScope });
  for (const refused of [
    await approve(service, provider, bearing(key)),
    await service.send('DELETE', approvalPath, undefined, bearing(key)),
  ])
    assertError(refused, { status: 403, code: 'forbidden' });
  assert.equal((await shown()).console_approved_at, null);
  const acts = (await service.get('/v3/audit', asKey)).json.body.map(({ what }: { what: string }) => what);
  assert.deepEqual(
    acts.filter((what: string) => what.startsWith('integration.')),
    ['integration.approval_withdrawn', 'integration.approved', 'integration.registered'],
  );
});

test('an approval stays with a new secret, ends with a lesser key that changes the client, and with every new issuer', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider, asKey } = signing;
  const lesser = bearing(await newKey(service.data, { scopes: everyScope }));
  const fields = { ...credentials, IDP_ISSUER: provider.issuer };
  const replace = async (changed: object, headers: Record<string, string>) => {
    const replaced = await service.send(
      'PUT',
      '/v3/service/auth/oidc/web',
      { ...fields, ...changed },
      headers,
    );
    assert.equal(replaced.status, 200, replaced.text);
    return replaced.json.body.console_approved_at !== null;
  };
  assert.equal(await replace({ IDP_CLIENT_SECRET: 'another' }, lesser), true);
  assert.equal(await replace({ IDP_CLIENT_ID: 'another' }, asKey), true, 'who may approve, approves it');
  assert.equal(await replace({}, lesser), false);
  await approve(service, provider, asKey);
  const elsewhere = await ScriptedOidc.start(t);
  assert.equal(await replace({ IDP_ISSUER: elsewhere.issuer }, asKey), false);
  const acts = (await service.get('/v3/audit', asKey)).json.body.map(({ what }: { what: string }) => what);
  assert.equal(acts.filter((what: string) => what === 'integration.approval_withdrawn').length, 2);
});

test('a session of the console ends with the approval of its integration, and does not come back with the next one', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider, asKey } = signing;
  await addAdministrator(service.data, { issuer: provider.issuer, subject: 'ada' });
  const session = await enterConsole(signing, 'ada');
  const waiting = new Browser();
  await comeBack(signing, waiting);
  assert.equal(await statusOf(signing, session), 200);
  await service.send('DELETE', approvalPath, undefined, asKey);
  assert.equal(await statusOf(signing, session), 401);
  await approve(service, provider, asKey);
  assert.equal(await statusOf(signing, session), 401);
  assert.equal((await exchangeProof(signing, waiting)).status, 401, 'nor does a proof');
  assert.equal(await statusOf(signing, await enterConsole(signing, 'ada')), 200);
});

test('an administrator who is removed, unbound or bound elsewhere during the sign-in gets no session', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider, asKey } = signing;
  const ada = { issuer: provider.issuer, subject: 'ada' };
  const other = { IDP_CLIENT_ID: 'other', IDP_CLIENT_SECRET: 'x', IDP_ISSUER: provider.issuer };
  await service.post('/v3/create/service/auth/oidc/other', other, asKey);
  await approve(service, provider, asKey, ['other', 'other']);
  const meanwhile = {
    removed: () => removeAdministrator(service.data, ada),
    'bound to another registration': () => addAdministrator(service.data, ada, ['admin'], 'oidc/other'),
    'signing in by a client that is replaced': () =>
      service.send('PUT', '/v3/service/auth/oidc/web', other, bearing(lesser)),
  };
  const lesser = await newKey(service.data, { scopes: everyScope });
  for (const [what, change] of Object.entries(meanwhile)) {
    await addAdministrator(service.data, ada);
    signing.provider.subject = 'ada';
    const [early, late] = [new Browser(), new Browser()];
    const callback = await goToConsoleCallback(signing, early);
    await comeBack(signing, late);
    await change();
    assert.ok((await early.open(callback)).status >= 400, what);
    assert.ok((await exchangeProof(signing, late)).status >= 400, what);
  }
});

test('of an approval and a replacement of the client at once, the approval holds for no client that it does not name', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider, asKey } = signing;
  const mallory = bearing(await newKey(service.data, { scopes: ['integrations:write'] }));
  const fields = (client: string) => ({
    IDP_CLIENT_ID: client,
    IDP_CLIENT_SECRET: 'x',
    IDP_ISSUER: provider.issuer,
  });
  const put = (client: string) => service.send('PUT', '/v3/service/auth/oidc/web', fields(client), mallory);
  for (let round = 0; round < 20; round++) {
    await put('client-1');
    await service.send('DELETE', approvalPath, undefined, asKey);
    await Promise.all([put('client-of-mallory'), approve(service, provider, asKey)]);
    const { client_id, console_approved_at } = (await service.get('/v3/service/auth/oidc/web', asKey)).json
      .body;
    assert.deepEqual([client_id, console_approved_at], ['client-of-mallory', null]);
  }
});

test('an open service approves no integration over HTTP, and names the command', async (t) => {
  const service = await startTestService(t);
  const provider = await ScriptedOidc.start(t);
  await service.post('/v3/create/service/auth/oidc/web', { ...credentials, IDP_ISSUER: provider.issuer });
  const refused = await approve(service, provider, {});
  assertError(refused, { status: 403, code: 'forbidden' });
  assert.match(refused.json.body.error.message, /npx counterfoil integrations approve/);
});

test('the approval by another process counts at the next request, and so does its end', async (t) => {
  const signing = await startConsoleSignIn(t);
  const { service, provider, asKey } = signing;
  const second = await startTestService(t, { data: service.data, keyless: true });
  await addAdministrator(service.data, { issuer: provider.issuer, subject: 'ada' });
  const session = await enterConsole(signing, 'ada');
  assert.equal((await second.send('DELETE', approvalPath, undefined, asKey)).status, 200);
  assert.equal(await statusOf(signing, session), 401);
  assert.deepEqual(await tryAs(signing, 'web'), [403]);
  assert.equal((await approve(second, provider, asKey)).status, 200);
  assert.deepEqual(await tryAs(signing, 'web'), [200, 303, 200]);
});
