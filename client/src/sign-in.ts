import { CounterfoilError, clientError, invalid } from './error.ts';
import { type Http, path } from './http.ts';
import { sendAgain } from './retry.ts';
import type { CallOptions } from './tables.ts';
import { sleep, withinTime } from './time.ts';

export type IdentityProvider = 'google' | 'microsoft' | 'github' | 'oidc';

/** `localStorage`, `sessionStorage`, or a store of your own. */
export interface TokenStorage {
  getItem(key: string): string | null | Promise<string | null>;
  setItem(key: string, value: string): unknown;
  removeItem(key: string): unknown;
}

export interface SignInRequest {
  readonly provider: IdentityProvider;
  /** The name of the integration. */
  readonly integration: string;
  /** One of the integration's `return_urls`, character by character. */
  readonly returnUrl: string;
}

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface Session {
  readonly issuer: string;
  /** Identifies the user together with `issuer`; an e-mail address does not. */
  readonly subject: string;
  readonly provider: string;
  readonly integration: string;
  readonly name?: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly picture?: string;
  readonly session: { readonly id: string; readonly created_at: string; readonly expires_at: string };
}

interface Pending extends SignInRequest {
  readonly verifier: string;
  readonly state: string;
}

interface SignedIn extends Tokens, Pick<SignInRequest, 'provider' | 'integration'> {}

interface TokenBody {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
}

/** Sign-ins under way that are stored, of as many tabs with the same storage. */
const pendingMax = 5;
/** An access token that is valid for less than this time is refreshed first. */
const remainingMsMin = 60_000;
/**
 * After a wait for the lock: how long another tab's stored tokens may take to appear here. Browsers show them a moment
 * after that tab has released its lock.
 */
const otherTabMsMax = 1_000;
/** The same if the lock was free, because another tab may have released it just before. */
const releasedMsMax = 100;
const otherTabLookMs = 20;
/** How long a refresh is repeated: for ten seconds, the service returns the same new tokens again. */
const refreshMsMax = 4_000;

/** Sign-in of an app on another origin than the service, with PKCE (RFC 7636). */
export class SignIn {
  readonly #http: Http;
  readonly #storage: TokenStorage;
  readonly #pendingKey: string;
  readonly #tokensKey: string;
  #refreshing: Promise<string | undefined> | undefined;
  #exchange: { readonly code: string; readonly tokens: Promise<Tokens> } | undefined;

  /** @internal */
  constructor(http: Http, storage: TokenStorage = memory()) {
    this.#http = http;
    this.#storage = storage;
    this.#pendingKey = `counterfoil ${http.url} pending`;
    this.#tokensKey = `counterfoil ${http.url} tokens`;
  }

  /** The URL to send the browser to. The verifier is stored for `exchange`, together with those of other tabs. */
  async url({ provider, integration, returnUrl }: SignInRequest): Promise<string> {
    const verifier = randomText(32);
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
    const state = randomText(16);
    const pending = { provider, integration, returnUrl, verifier, state };
    await this.#changePending((others) => [pending, ...others].slice(0, pendingMax));
    const query = new URLSearchParams({
      return_to: returnUrl,
      code_challenge: base64url(new Uint8Array(digest)),
      code_challenge_method: 'S256',
      state,
    });
    return `${this.#http.url}${path('/v3/auth', provider, integration, 'sign-in')}?${query}`;
  }

  /**
   * Exchanges the code of the return URL for tokens, and stores them. A code can be used once. Further calls with it
   * return the same tokens, until `signOut`. An abort stops the wait but not the exchange, which another call may
   * share.
   *
   * @param url the URL at which the browser has arrived
   */
  async exchange(url: string | URL, { signal }: CallOptions = {}): Promise<Tokens> {
    const { searchParams } = new URL(url);
    const code = searchParams.get('code');
    if (code === null) throw invalid('code', 'The URL has no code.');
    if (this.#exchange?.code !== code) {
      const tokens = this.#exchangeCode(code, searchParams.get('state'));
      this.#exchange = { code, tokens };
      tokens.catch(() => {
        // The network may be back, or a sign-in may have been started.
        if (this.#exchange?.tokens === tokens) this.#exchange = undefined;
      });
    }
    const { tokens } = this.#exchange;
    return signal === undefined ? tokens : withinTime(signal, Infinity, () => tokens);
  }

  async #exchangeCode(code: string, state: string | null): Promise<Tokens> {
    const pending = (await this.#pending()).find((begun) => begun.state === state);
    if (pending === undefined) throw invalid('code_verifier', 'No sign-in was started with this storage.');
    const { provider, integration, returnUrl, verifier } = pending;
    const { body } = await sendAgain<TokenBody>(this.#http, {
      method: 'POST',
      path: path('/v3/auth', provider, integration, 'token'),
      body: { grant_type: 'authorization_code', code, code_verifier: verifier, return_url: returnUrl },
    });
    await this.#changePending((all) => all.filter((begun) => begun.state !== state));
    return this.#store(pending, body);
  }

  async #pending(): Promise<readonly Pending[]> {
    return (await this.#read<readonly Pending[]>(this.#pendingKey)) ?? [];
  }

  #changePending(change: (begun: readonly Pending[]) => readonly Pending[]): Promise<unknown> {
    return exclusively(this.#pendingKey, async () => {
      const changed = change(await this.#pending());
      if (changed.length === 0) await this.#storage.removeItem(this.#pendingKey);
      else await this.#storage.setItem(this.#pendingKey, JSON.stringify(changed));
    });
  }

  /**
   * A valid access token, refreshed if it expires within a minute; undefined if nobody is signed in. Concurrent calls
   * share one refresh. If the browser has Web Locks, this also holds for several tabs with the same storage.
   */
  async accessToken(): Promise<string | undefined> {
    const tokens = await this.#read<SignedIn>(this.#tokensKey);
    if (tokens === undefined || isFresh(tokens)) return tokens?.accessToken;
    this.#refreshing ??= exclusively(this.#tokensKey, (lookMs) => this.#refresh(lookMs)).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /** The session of this browser, for a page of the service's own origin; undefined if nobody is signed in. */
  async session({ signal }: CallOptions = {}): Promise<Session | undefined> {
    try {
      return (await sendAgain<Session>(this.#http, { method: 'GET', path: '/v3/auth/session', signal })).body;
    } catch (error) {
      if (error instanceof CounterfoilError && error.code === 'unauthenticated') return undefined;
      throw error;
    }
  }

  /** Revokes the refresh token and forgets the tokens. An access token stays valid until it expires. */
  async signOut({ signal }: CallOptions = {}): Promise<void> {
    this.#exchange = undefined;
    await exclusively(this.#tokensKey, async () => {
      const tokens = await this.#read<SignedIn>(this.#tokensKey);
      if (tokens === undefined) return;
      await this.#storage.removeItem(this.#tokensKey);
      const call = {
        method: 'POST',
        path: path('/v3/auth', tokens.provider, tokens.integration, 'revoke'),
        body: new URLSearchParams({ token: tokens.refreshToken }),
        signal,
      };
      await sendAgain(this.#http, call, true);
    });
  }

  /** @param lookMs how long to wait for tokens that another tab may just have refreshed */
  async #refresh(lookMs: number): Promise<string | undefined> {
    let tokens = await this.#read<SignedIn>(this.#tokensKey);
    const giveUpAt = performance.now() + lookMs;
    while (tokens !== undefined && !isFresh(tokens) && performance.now() < giveUpAt) {
      await sleep(otherTabLookMs);
      tokens = await this.#read<SignedIn>(this.#tokensKey);
    }
    if (tokens === undefined || isFresh(tokens)) return tokens?.accessToken;
    try {
      const call = {
        method: 'POST',
        path: path('/v3/auth', tokens.provider, tokens.integration, 'token'),
        body: { grant_type: 'refresh_token', refresh_token: tokens.refreshToken },
        timeoutMs: refreshMsMax,
      };
      const { body } = await sendAgain<TokenBody>(this.#http, call, true);
      return (await this.#store(tokens, body)).accessToken;
    } catch (error) {
      if (!(error instanceof CounterfoilError) || error.code !== 'invalid_request') throw error;
      // The sign-in has ended.
      await this.#storage.removeItem(this.#tokensKey);
      return undefined;
    }
  }

  async #store(of: Pick<SignedIn, 'provider' | 'integration'>, body: TokenBody): Promise<Tokens> {
    if (typeof body?.access_token !== 'string') throw clientError('invalid_response');
    const tokens: Tokens = {
      accessToken: body.access_token,
      refreshToken: body.refresh_token,
      expiresAt: Date.now() + body.expires_in * 1_000,
    };
    const { provider, integration } = of;
    await this.#storage.setItem(this.#tokensKey, JSON.stringify({ provider, integration, ...tokens }));
    return tokens;
  }

  async #read<Value>(key: string): Promise<Value | undefined> {
    const text = await this.#storage.getItem(key);
    return text === null ? undefined : JSON.parse(text);
  }
}

function isFresh({ expiresAt }: Tokens): boolean {
  return expiresAt - Date.now() > remainingMsMin;
}

interface Locks {
  request<Result>(
    name: string,
    options: { readonly ifAvailable?: boolean },
    run: (lock: unknown) => Promise<Result>,
  ): Promise<Result>;
}

/**
 * Runs one call at a time across tabs, if the browser has Web Locks.
 *
 * @param run gets the time for which to look for the result of another tab
 */
async function exclusively<Result>(name: string, run: (lookMs: number) => Promise<Result>): Promise<Result> {
  const { locks } = (globalThis as { navigator?: { locks?: Locks } }).navigator ?? {};
  if (locks === undefined) return run(0);
  const taken = await locks.request(name, { ifAvailable: true }, async (lock) =>
    lock === null ? undefined : { result: await run(releasedMsMax) },
  );
  return taken === undefined ? locks.request(name, {}, () => run(otherTabMsMax)) : taken.result;
}

function randomText(bytes: number): string {
  return base64url(crypto.getRandomValues(new Uint8Array(bytes)));
}

function base64url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function memory(): TokenStorage {
  const values = new Map<string, string>();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => values.set(key, value),
    removeItem: (key) => values.delete(key),
  };
}
