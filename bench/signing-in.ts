import { createInterface } from 'node:readline';
import { Browser } from '../test/support/sign-in/browser.ts';
import type { Conditions } from './case.ts';
import type { Environment } from './environment.ts';
import { type Server, startLoggingService, startProvider, startService } from './servers.ts';

export const client = { clientId: 'bench', clientSecret: 'a-secret-of-the-benchmark' };

const signInPath = '/v3/auth/oidc/bench/sign-in';
const isCallback = (url: string) => url.includes('/callback?');

/** A service with an integration of a real identity provider. */
export interface SigningIn {
  readonly service: Server;
  /** The provider's times for each code exchange so far, in milliseconds. */
  readonly exchangesMs: readonly number[];
  /** The times of the two requests of each sign-in so far, from the service's own log. */
  readonly begunMs: readonly number[];
  readonly finishedMs: readonly number[];
}

/** @param logsRequests whether the service logs each request with its duration, which costs it some time */
export async function startSigningIn(
  environment: Environment,
  conditions: Conditions,
  logsRequests = false,
): Promise<SigningIn> {
  const start = logsRequests ? startLoggingService : startService;
  const service = await start(environment, conditions);
  const begunMs: number[] = [];
  const finishedMs: number[] = [];
  linesOf(service.program.child.stderr, (line) => {
    const { route = '', duration_ms: ms = 0 } = line.startsWith('{') ? JSON.parse(line) : {};
    if (route.endsWith('/sign-in')) begunMs.push(ms);
    if (route.endsWith('/callback')) finishedMs.push(ms);
  });
  const redirectUri = `${service.origin}/v3/auth/oidc/bench/callback`;
  const provider = await startProvider(environment, redirectUri);
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
  if (response.status !== 200) throw new Error(`the registration returned ${response.status}`);
  return { service, exchangesMs, begunMs, finishedMs };
}

/** Signs a user in for the first time. Later sign-ins of this browser need no form. */
export async function knownBrowser({ service }: SigningIn, login: string): Promise<Browser> {
  const browser = new Browser();
  const form = await browser.follow(service.origin + signInPath);
  const consent = await browser.submit(form, { login, password: 'any' });
  const callback = await browser.submit(consent, {}, isCallback);
  await finish(browser, callback.url);
  return browser;
}

/** A complete sign-in. Throws when a step fails. */
export async function signInAgain({ service }: SigningIn, browser: Browser): Promise<void> {
  const { url } = await browser.follow(service.origin + signInPath, isCallback);
  if (!isCallback(url)) throw new Error(`a sign-in ended at ${url}`);
  await finish(browser, url);
}

async function finish(browser: Browser, callback: string): Promise<void> {
  const { status, text } = await browser.open(callback);
  if (status !== 303) throw new Error(`a callback returned ${status}: ${text}`);
}

function linesOf(stream: NodeJS.ReadableStream | null, take: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream }).on('line', take);
}
