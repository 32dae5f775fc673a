import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { TestServiceOptions } from '../service.ts';
import { App, type AppResponse, returnUrl } from './app.ts';
import { Browser } from './browser.ts';
import { register, type SignInTest, signIn, startSignIn } from './signing-in.ts';

/** A user who is signed in with one browser, at the service and in an app on another origin. */
export interface Person {
  readonly browser: Browser;
  readonly refreshToken: string;
  /** The `sub` of the access tokens. */
  readonly id: string;
  readonly app: App;
}

/** A service with the integrations `oidc/web` and `oidc/shop`. */
export async function startForOperators(t: TestContext, options: TestServiceOptions = {}) {
  const signing = await startSignIn(t, { ...options, fields: { return_urls: [returnUrl] } });
  await register(signing.service, signing.provider, 'shop', { return_urls: [returnUrl] });
  const enter = (subject: string, integration = 'oidc/web') => enterAs(signing, subject, integration);
  return { signing, service: signing.service, enter };
}

async function enterAs(signing: SignInTest, subject: string, integration: string): Promise<Person> {
  const { provider, service } = signing;
  provider.subject = subject;
  provider.twists = {
    ...provider.twists,
    claims: (honest) => ({ ...honest, name: `Name of ${subject}`, email: `${subject}@example.com` }),
  };
  const app = new App(integration);
  const browser = new Browser();
  const landed = await signIn({ ...signing, browser }, app.link);
  const { status, text, body } = await app.exchange(service.origin, landed.headers.get('location'));
  assert.equal(status, 200, text);
  const [, payload = ''] = body.access_token.split('.');
  const { sub } = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return { browser, app, refreshToken: body.refresh_token, id: sub };
}

/** Whether the session and the refresh token are valid. The check uses the refresh token. */
export async function livesOf(origin: string, { browser, app, refreshToken }: Person) {
  const session = await browser.open(`${origin}/v3/auth/session`);
  const refreshed: AppResponse = await app.refresh(origin, refreshToken);
  return [session.status === 200, refreshed.status === 200];
}
