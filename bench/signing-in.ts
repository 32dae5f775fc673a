import { createInterface } from 'node:readline';
import { Browser } from '../test/support/sign-in/browser.ts';
import type { Conditions } from './case.ts';
import { type Server, startProvider, startService, startTellingService } from './servers.ts';
import type { Workplace } from './workplace.ts';

export const client = { clientId: 'bench', clientSecret: 'a-secret-of-the-benchmark' };

const signInPath = '/v3/auth/oidc/bench/sign-in';
const isCallback = (url: string) => url.includes('/callback?');

/** A service and a real identity provider that an integration is registered with. */
export interface SigningIn {
  readonly service: Server;
  /** What each exchange of a code took the provider so far, in milliseconds. */
  readonly exchangesMs: readonly number[];
  /** What each of the two requests of a sign-in took the service so far, as it says itself. */
  readonly begunMs: readonly number[];
  readonly finishedMs: readonly number[];
}

/** @param isTelling whether the service tells what each request took, which costs it a line each */
export async function startSigningIn(
  workplace: Workplace,
  conditions: Conditions,
  isTelling = false,
): Promise<SigningIn> {
  const start = isTelling ? startTellingService : startService;
  const service = await start(workplace, conditions);
  const begunMs: number[] = [];
  const finishedMs: number[] = [];
  linesOf(service.program.child.stderr, (line) => {
    const { route = '', duration_ms: ms = 0 } = line.startsWith('{') ? JSON.parse(line) : {};
    if (route.endsWith('/sign-in')) begunMs.push(ms);
    if (route.endsWith('/callback')) finishedMs.push(ms);
  });
  const redirectUri = `${service.origin}/v3/auth/oidc/bench/callback`;
  const provider = await startProvider(workplace, redirectUri);
  const exchangesMs: number[] = [];
  linesOf(provider.program.child.stdout, (line) => {
    const ms = /^exchange ([\d.]+)$/.exec(line)?.[1];
    if (ms !== undefined) exchangesMs.push(Number(ms));
  });
  const body = {
    IDP_CLIENT_ID: client.clientId,
    IDP_CLIENT_SECRET: client.clientSecret,
    IDP_ISSUER: provider.origin,
  };
  const response = await fetch(`${service.origin}/v3/create/service/auth/oidc/bench`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (response.status !== 200) throw new Error(`the registration was answered ${response.status}`);
  return { service, exchangesMs, begunMs, finishedMs };
}

/** A browser whose user the provider knows from now on, so that it asks no more. */
export async function knownBrowser({ service }: SigningIn, login: string): Promise<Browser> {
  const browser = new Browser();
  const form = await browser.follow(service.origin + signInPath);
  const consent = await browser.submit(form, { login, password: 'any' });
  const callback = await browser.submit(consent, {}, isCallback);
  await finish(browser, callback.url);
  return browser;
}

/** A whole sign-in. Throws when anything of it is not as it must be. */
export async function signInAgain({ service }: SigningIn, browser: Browser): Promise<void> {
  const { url } = await browser.follow(service.origin + signInPath, isCallback);
  if (!isCallback(url)) throw new Error(`a sign-in ended at ${url}`);
  await finish(browser, url);
}

async function finish(browser: Browser, callback: string): Promise<void> {
  const { status, text } = await browser.open(callback);
  if (status !== 303) throw new Error(`a callback was answered ${status}: ${text}`);
}

function linesOf(stream: NodeJS.ReadableStream | null, take: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream }).on('line', take);
}
