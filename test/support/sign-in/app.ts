import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import type { Browser } from './browser.ts';

/** Registers the integration that the app uses. */
export const registerPath = '/v3/create/service/auth/oidc/web';
export const returnUrl = 'https://app.example.com/signed-in';

export interface AppResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  readonly body: any;
}

/** An app on another origin that users sign in to through an integration, with a code, PKCE and refresh tokens. */
export class App {
  readonly integration: string;
  readonly #verifier = randomBytes(32).toString('base64url');

  constructor(integration = 'oidc/web') {
    this.integration = integration;
  }

  /** The sign-in link of the app. */
  get link(): string {
    const query = new URLSearchParams({
      return_to: returnUrl,
      code_challenge: createHash('sha256').update(this.#verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    return `/v3/auth/${this.integration}/sign-in?${query}`;
  }

  /** @param location the Location of the callback's response */
  exchange(origin: string, location: string | null): Promise<AppResponse> {
    return this.#token(origin, {
      grant_type: 'authorization_code',
      code: new URL(location ?? '').searchParams.get('code'),
      code_verifier: this.#verifier,
      return_url: returnUrl,
    });
  }

  refresh(origin: string, refreshToken: string): Promise<AppResponse> {
    return this.#token(origin, { grant_type: 'refresh_token', refresh_token: refreshToken });
  }

  #token(origin: string, fields: object): Promise<AppResponse> {
    return sendJson(`${origin}/v3/auth/${this.integration}/token`, 'POST', fields);
  }
}

export async function sendJson(
  url: string,
  method: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<AppResponse> {
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: bodyOf(text) };
}

function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text).body;
  } catch {
    return undefined;
  }
}

export function signOut(origin: string, browser: Browser, body?: object) {
  return browser.open(`${origin}/v3/auth/sign-out`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** The public URL of a service that restarts on other ports. It has no listener. */
export const publicUrl = 'http://127.0.0.1:1';

/** Signs a browser in at a service whose public URL is `publicUrl`. @returns the Location of the callback's response */
export async function signInAt(origin: string, browser: Browser, path: string): Promise<string> {
  const { url } = await browser.follow(origin + path, (next) => next.includes('/callback?'));
  assert.ok(url.includes('/callback?'), url);
  const page = await browser.open(url.replace(publicUrl, origin));
  assert.equal(page.status, 303, page.text);
  return page.headers.get('location') ?? '';
}

export async function isSignedIn(origin: string, browser: Browser): Promise<boolean> {
  const { status, text } = await browser.open(`${origin}/v3/auth/session`);
  assert.ok(status === 200 || status === 401, text);
  return status === 200;
}
