import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { ScriptedOidc } from '../oidc/scripted-oidc.ts';
import { startTestService, type TestService, type TestServiceOptions } from '../service.ts';
import { Browser, type Page } from './browser.ts';

export const credentials = { IDP_CLIENT_ID: 'client-1', IDP_CLIENT_SECRET: 'secret-1' };
export const signInPath = '/v3/auth/oidc/web/sign-in';
export const callbackPath = '/v3/auth/oidc/web/callback';

export interface SignInTest {
  readonly service: TestService;
  readonly provider: ScriptedOidc;
  readonly browser: Browser;
}

/** A service, and a scripted provider that is registered as `oidc/web`. */
export async function startSignIn(
  t: TestContext,
  { alg, fields = {}, ...options }: TestServiceOptions & { alg?: string; fields?: object } = {},
): Promise<SignInTest> {
  const service = await startTestService(t, options);
  const provider = await ScriptedOidc.start(t, alg === undefined ? {} : { alg });
  await register(service, provider, 'web', fields);
  return { service, provider, browser: new Browser() };
}

export async function register(
  service: TestService,
  provider: ScriptedOidc,
  name: string,
  fields: object = {},
) {
  const body = { ...credentials, IDP_ISSUER: provider.issuer, ...fields };
  const { status, text } = await service.post(`/v3/create/service/auth/oidc/${name}`, body);
  assert.equal(status, 200, text);
}

/** Follows the sign-in link. @returns the URL of the callback, which is not opened */
export async function goToCallback({ service, browser }: SignInTest, path = signInPath): Promise<string> {
  const page = await browser.follow(service.origin + path, (url) => url.includes('/callback?'));
  assert.ok(page.url.includes('/callback?'), `${page.status} at ${page.url}: ${page.text}`);
  return page.url;
}

/** Runs the complete flow. @returns the response to the callback */
export async function signIn(test: SignInTest, path = signInPath): Promise<Page> {
  return test.browser.open(await goToCallback(test, path));
}

export async function whoIs({ service }: Pick<SignInTest, 'service'>, browser: Browser) {
  const page = await browser.open(`${service.origin}/v3/auth/session`);
  return { status: page.status, body: JSON.parse(page.text).body };
}

export async function assertSignedIn(test: SignInTest, subject: string): Promise<void> {
  const { status, body } = await whoIs(test, test.browser);
  assert.equal(status, 200);
  assert.equal(body.subject, subject);
}

/** Checks that a sign-in was rejected with a page, and that neither the browser nor the store has a session. */
export async function assertRejected(
  test: SignInTest,
  page: Page,
  { status, says }: { readonly status: number; readonly says: RegExp },
): Promise<void> {
  assert.equal(page.status, status, page.text);
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  assert.match(page.text, says);
  assert.equal((await whoIs(test, test.browser)).status, 401);
  assert.ok(!test.browser.cookieNames.some((name) => name.includes('counterfoil-session')));
}

export const says = {
  untrusted: { status: 502, says: /cannot be trusted/ },
  rejected: { status: 502, says: /rejected this sign-in/ },
  unreachable: { status: 502, says: /does not respond/ },
  denied: { status: 403, says: /did not let you in/ },
  unknownState: { status: 400, says: /This sign-in is over/ },
  ended: { status: 400, says: /signed out meanwhile/ },
  otherBrowser: { status: 400, says: /started in another browser/ },
  otherProvider: { status: 400, says: /Another provider responded/ },
  callback: { status: 400, says: /not a response to a sign-in/ },
  returnAddress: { status: 400, says: /is not allowed/ },
} as const;
