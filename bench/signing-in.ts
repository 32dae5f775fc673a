import { createInterface } from 'node:readline';
import { Browser } from '../test/support/browser.ts';
import type { Conditions } from './case.ts';
import { type Server, startProvider, startService } from './servers.ts';
import type { Workplace } from './workplace.ts';

export const client = { clientId: 'bench', clientSecret: 'a-secret-of-the-benchmark' };

const signInPath = '/v3/auth/oidc/bench/sign-in';
const isCallback = (url: string) => url.includes('/callback?');

/** A service and a real identity provider that an integration is registered with. */
export interface SigningIn {
  readonly service: Server;
  /** What each exchange of a code took the provider so far, in milliseconds. */
  readonly exchangesMs: readonly number[];
}

export async function startSigningIn(workplace: Workplace, conditions: Conditions): Promise<SigningIn> {
  const service = await startService(workplace, conditions);
  const redirectUri = `${service.origin}/v3/auth/oidc/bench/callback`;
  const provider = await startProvider(workplace, redirectUri);
  const exchangesMs: number[] = [];
  createInterface({ input: provider.program.child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
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
  return { service, exchangesMs };
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

/** A whole sign-in. @returns what the two requests to the service took, in milliseconds */
export async function signInAgain({ service }: SigningIn, browser: Browser): Promise<number> {
  const beganAt = performance.now();
  const begun = await browser.open(service.origin + signInPath);
  const begunMs = performance.now() - beganAt;
  const location = begun.headers.get('location');
  if (begun.status !== 303 || location === null) throw new Error(`a sign-in was answered ${begun.status}`);
  const { url } = await browser.follow(location, isCallback);
  return begunMs + (await finish(browser, url));
}

async function finish(browser: Browser, callback: string): Promise<number> {
  const beganAt = performance.now();
  const { status, text } = await browser.open(callback);
  if (status !== 303) throw new Error(`a callback was answered ${status}: ${text}`);
  return performance.now() - beganAt;
}
