import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { ScriptedOidc } from '../oidc/scripted-oidc.ts';
import { newData, ServeProcess } from '../serve-process.ts';
import { tryToPost } from '../try-to-send.ts';
import { App, isSignedIn, returnUrl, sendJson, signInAt } from './app.ts';
import { Browser } from './browser.ts';
import { env } from './kill-drill.ts';
import { credentials } from './signing-in.ts';

export const registerPath = '/v3/create/service/auth/oidc/web';

/** A browser that is signed in at the service and in an app on another origin. */
export interface SignedIn {
  readonly browser: Browser;
  readonly refreshToken: string;
}

export interface Prepared {
  /** The data folder of the stopped service. */
  readonly data: string;
  readonly app: App;
  readonly provider: ScriptedOidc;
  /** The registered fields of `oidc/web`. */
  readonly fields: object;
  /** All browsers have the same user. */
  readonly browsers: readonly SignedIn[];
}

/** A data folder with one user, who is signed in with `count` browsers and in an app with each. */
export async function prepareSignedIn(t: TestContext, count: number): Promise<Prepared> {
  const provider = await ScriptedOidc.start(t);
  const data = newData(t);
  const service = await ServeProcess.start(t, { data, env });
  const origin = await service.ready();
  const fields = { ...credentials, IDP_ISSUER: provider.issuer, return_urls: [returnUrl] };
  assert.equal((await sendJson(origin + registerPath, 'POST', fields)).status, 200);
  const app = new App();
  const signIn = async (): Promise<SignedIn> => {
    const browser = new Browser();
    const { status, text, body } = await app.exchange(origin, await signInAt(origin, browser, app.link));
    assert.equal(status, 200, text);
    return { browser, refreshToken: body.refresh_token };
  };
  const browsers: SignedIn[] = [];
  while (browsers.length < count) {
    const some = Math.min(20, count - browsers.length);
    browsers.push(...(await Promise.all(Array.from({ length: some }, signIn))));
  }
  assert.equal(await service.terminate(), 0);
  return { data, app, provider, fields, browsers };
}

/** A sign-out whose response may be lost. The browser always keeps its cookie, as after a lost response. */
export function tryToSignOut(origin: string, { browser }: SignedIn, body: object = {}) {
  const cookie = browser.cookieHeader(`${origin}/`);
  return tryToPost(`${origin}/v3/auth/sign-out`, body, { cookie });
}

/** The sessions and refresh tokens that are still valid. The check uses the refresh tokens. */
export async function whatLives(origin: string, app: App, browsers: readonly SignedIn[]): Promise<string[]> {
  const living: string[] = [];
  for (const [index, { browser, refreshToken }] of browsers.entries()) {
    if (await isSignedIn(origin, browser)) living.push(`session ${index}`);
    const { status, text } = await app.refresh(origin, refreshToken);
    assert.ok([200, 400, 404].includes(status), text);
    if (status === 200) living.push(`refresh token ${index}`);
  }
  return living;
}
