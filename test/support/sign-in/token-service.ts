import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { PassThrough } from 'node:stream';
import type { TestContext } from 'node:test';
import { tokenRoutes } from '../../../src/http/routes/tokens.ts';
import { openApp } from '../../../src/http/server/app.ts';
import { Listener } from '../../../src/http/server/listener.ts';
import { openLog } from '../../../src/log.ts';
import { fixedKeys, masterKey } from '../../../src/secrets/key-file.ts';
import { Sealer } from '../../../src/secrets/sealer.ts';
import { SigningKeys } from '../../../src/sign-in/tokens/signing-keys.ts';
import { TokenGrants } from '../../../src/sign-in/tokens/token-grants.ts';
import type { Identity } from '../../../src/sign-in/types.ts';
import type { Engine } from '../../../src/storage/engine.ts';
import { unguarded } from '../http/unguarded.ts';
import { newDataFolder, openStoreOf } from '../service.ts';

export const ada: Identity = {
  issuer: 'https://id.example.com',
  subject: 'user-1',
  provider: 'oidc',
  integration: 'web',
  name: 'Ada',
  email: 'ada@example.com',
  emailVerified: true,
};
const registrationId = 'registration-1';
export const returnUrl = 'https://app.example.com/signed-in?from=counterfoil';

/** A store, and a clock that the test sets. Any number of processes share them. */
export interface Shared {
  readonly engine: Engine;
  readonly sealer: Sealer;
  readonly data: string;
  now: number;
}

export async function openShared(t: TestContext): Promise<Shared> {
  const data = newDataFolder(t);
  const engine = await openStoreOf(data);
  t.after(() => engine.close());
  return { engine, sealer: new Sealer(fixedKeys([masterKey(randomBytes(32))])), data, now: Date.now() };
}

export interface TokenResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  readonly body: any;
}

export interface TokenProcess {
  readonly engine: Engine;
  readonly origin: string;
  readonly grants: TokenGrants;
  readonly keys: SigningKeys;
  readonly logged: () => string;
  /** Sends a token request, by default to the integration of `ada`. */
  token(fields: object, integration?: string): Promise<TokenResponse>;
}

/** One process: the real app, routes and domain over the shared store. */
export async function startProcess(t: TestContext, shared: Shared): Promise<TokenProcess> {
  const { engine, sealer } = shared;
  const now = () => shared.now;
  const listener = await Listener.listen({ host: '127.0.0.1', port: 0 });
  const keys = new SigningKeys({ engine, sealer, now });
  const findRegistration = async (_provider: string, name: string) =>
    name === 'unknown' ? undefined : { id: registrationId, returnUrls: [returnUrl] };
  const grants = new TokenGrants({ engine, keys, issuer: listener.origin, findRegistration, now });
  const lines = new PassThrough();
  const log: string[] = [];
  lines.on('data', (line: Buffer) => log.push(line.toString()));
  const app = await openApp(listener, {
    log: openLog('debug', lines),
    ...unguarded,
    isStopping: () => false,
    routes: [
      tokenRoutes({
        prefix: '',
        grantTokens: ({ provider, name }, request) => grants.grant(provider, name, request),
        publishedKeys: () => keys.published(),
        revokeToken: async () => undefined,
        endByProvider: async () => undefined,
      }),
    ],
  });
  t.after(async () => {
    await listener.stop();
    await app.close();
  });
  const token: TokenProcess['token'] = async (fields, integration = 'oidc/web') => {
    const response = await fetch(`${listener.origin}/v3/auth/${integration}/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text).body };
  };
  return { engine, origin: listener.origin, grants, keys, logged: () => log.join(''), token };
}

export interface SignedIn {
  readonly code: string;
  readonly verifier: string;
  /** The token request of the app. */
  readonly exchange: Readonly<Record<string, string>>;
}

/** Issues a code, as at the end of a sign-in. */
export async function signIn(
  { grants, engine }: TokenProcess,
  { identity = ada, sessionId = 'session-1' } = {},
): Promise<SignedIn> {
  const verifier = randomBytes(32).toString('base64url');
  const codeChallenge = createHash('sha256').update(verifier).digest('base64url');
  const session = { id: sessionId, identity, registrationId, createdAt: 0, lastSeenAt: 0 };
  const { code, writes } = grants.newCode(session, { returnUrl, codeChallenge });
  assert.equal(await engine.commit(writes), undefined);
  const exchange = { grant_type: 'authorization_code', code, code_verifier: verifier, return_url: returnUrl };
  return { code, verifier, exchange };
}

export function refreshOf(token: string) {
  return { grant_type: 'refresh_token', refresh_token: token };
}

/** Signs in and exchanges the code. @returns the refresh token */
export async function firstToken(
  process: TokenProcess,
  options?: Parameters<typeof signIn>[1],
): Promise<string> {
  const { exchange } = await signIn(process, options);
  return (await process.token(exchange)).body.refresh_token;
}
