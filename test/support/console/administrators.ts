import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Administrator, Administrators } from '../../../src/access/console/administrators.ts';
import type { Scope } from '../../../src/access/scopes.ts';
import { ConsoleApprovals } from '../../../src/sign-in/console-approvals.ts';
import { userKey } from '../../../src/sign-in/types.ts';
import { bearing, startServiceWithKeys } from '../access/keys.ts';
import { ScriptedOidc } from '../oidc/scripted-oidc.ts';
import { openStoreOf, type TestResponse, type TestService, type TestServiceOptions } from '../service.ts';
import { Browser, type Page } from '../sign-in/browser.ts';
import { credentials } from '../sign-in/signing-in.ts';
import { fromPage } from './sign-in.ts';

const signInPath = '/console/sign-in';

/** Runs `work` on the administrators of a data folder, as a command does beside the running service. */
export async function withAdministrators<Result>(
  data: string,
  work: (administrators: Administrators, approvals: ConsoleApprovals) => Promise<Result>,
): Promise<Result> {
  const engine = await openStoreOf(data);
  try {
    return await work(new Administrators(engine, Date.now), new ConsoleApprovals(engine, Date.now));
  } finally {
    await engine.close();
  }
}

/** As `counterfoil admins add` and `remove`. */
export function addAdministrator(
  data: string,
  who: { readonly issuer: string; readonly subject: string; readonly name?: string },
  scopes: readonly Scope[] = ['admin'],
  integration = 'oidc/web',
): Promise<Administrator> {
  return withAdministrators(data, async (administrators, approvals) => {
    const registration = await approvals.registrationFor(integration);
    return administrators.add({ id: userKey(who), ...who, registration, scopes }, { by: 'cli' });
  });
}

export function removeAdministrator(
  data: string,
  who: { readonly issuer: string; readonly subject: string },
): Promise<Administrator> {
  return withAdministrators(data, (administrators) => administrators.remove(userKey(who), { by: 'cli' }));
}

export interface ConsoleSignInTest {
  readonly service: TestService;
  readonly provider: ScriptedOidc;
  /** The headers of a program with an admin key. */
  readonly asKey: Record<string, string>;
}

/** A service with keys, and a provider that is registered and approved as `oidc/web`. Nobody is an administrator. */
export async function startConsoleSignIn(
  t: TestContext,
  options: TestServiceOptions = {},
): Promise<ConsoleSignInTest> {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } }, options);
  const provider = await ScriptedOidc.start(t);
  provider.twists = { claims: (honest) => ({ ...honest, name: `Name of ${honest.sub}` }) };
  const asKey = bearing(keys.admin);
  const fields = { ...credentials, IDP_ISSUER: provider.issuer };
  const registered = await service.post('/v3/create/service/auth/oidc/web', fields, asKey);
  assert.equal(registered.status, 200, registered.text);
  const approved = await approve(service, provider, asKey);
  assert.equal(approved.status, 200, approved.text);
  return { service, provider, asKey };
}

/** Approves the client of an integration for the console. */
export function approve(
  service: TestService,
  { issuer }: { readonly issuer: string },
  headers: Record<string, string>,
  [name, client_id]: readonly [name: string, clientId: string] = ['web', credentials.IDP_CLIENT_ID],
): Promise<TestResponse> {
  return service.send('PUT', `/v3/service/auth/oidc/${name}/approval`, { client_id, issuer }, headers);
}

/** Sends a request as the page of the console does. */
export async function sendFromPage(
  { service }: Pick<ConsoleSignInTest, 'service'>,
  browser: Browser,
  [method, path]: readonly [method: string, path: string],
  { body, headers = {} }: { readonly body?: object; readonly headers?: Record<string, string> } = {},
) {
  const {
    status,
    text,
    headers: received,
  } = await browser.open(service.origin + path, {
    method,
    headers: {
      ...fromPage(service),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status, text, headers: received, body: JSON.parse(text).body };
}

/** Begins a sign-in as the page does, and follows it. @returns the URL of the callback, which is not opened */
export async function goToConsoleCallback(test: ConsoleSignInTest, browser: Browser): Promise<string> {
  const body = { provider: 'oidc', name: 'web', view: '/console/tables' };
  const begun = await sendFromPage(test, browser, ['POST', signInPath], { body });
  assert.equal(begun.status, 200, begun.text);
  const page = await browser.follow(begun.body.authorization_url, (url) => url.includes('/callback?'));
  return page.url;
}

/** Everything up to the response of the service to the callback. */
export async function comeBack(test: ConsoleSignInTest, browser: Browser): Promise<Page> {
  return browser.open(await goToConsoleCallback(test, browser));
}

/** Exchanges the proof that the browser has for a session. */
export function exchangeProof(test: ConsoleSignInTest, browser: Browser, headers = {}) {
  return sendFromPage(test, browser, ['POST', `${signInPath}/session`], { headers });
}

export interface SignedInAdministrator {
  readonly browser: Browser;
  readonly token: string;
  /** The headers that the page adds to a request. */
  readonly headers: Record<string, string>;
}

/** Signs a subject in to the console, all the way. */
export async function enterConsole(
  test: ConsoleSignInTest,
  subject: string,
  browser = new Browser(),
): Promise<SignedInAdministrator> {
  test.provider.subject = subject;
  const back = await comeBack(test, browser);
  assert.equal(back.status, 303, back.text);
  const exchanged = await exchangeProof(test, browser);
  assert.equal(exchanged.status, 200, exchanged.text);
  const { token } = exchanged.body;
  return { browser, token, headers: { 'console-token': token } };
}

/** The status of a request that needs the scope `admin`. */
export async function statusOf(test: ConsoleSignInTest, { browser, headers }: SignedInAdministrator) {
  return (await sendFromPage(test, browser, ['GET', '/v3/audit'], { headers })).status;
}
