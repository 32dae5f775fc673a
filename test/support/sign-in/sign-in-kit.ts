import { createHash, randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { IdentityProvider, Logout, ProvenIdentity } from '../../../src/identity/provider.ts';
import { fixedKeys, masterKey } from '../../../src/secrets/key-file.ts';
import { Sealer } from '../../../src/secrets/sealer.ts';
import { AccessEnding } from '../../../src/sign-in/access-ending.ts';
import { beginSignIn } from '../../../src/sign-in/begin-sign-in.ts';
import { ConsoleSignIns } from '../../../src/sign-in/console-sign-ins.ts';
import type { SignInContext } from '../../../src/sign-in/context.ts';
import { finishSignIn } from '../../../src/sign-in/finish-sign-in.ts';
import { Integrations } from '../../../src/sign-in/integrations.ts';
import { OneTimeIds } from '../../../src/sign-in/one-time-ids.ts';
import { PendingSignIns } from '../../../src/sign-in/pending-sign-ins.ts';
import { Sessions } from '../../../src/sign-in/sessions.ts';
import { SigningKeys } from '../../../src/sign-in/tokens/signing-keys.ts';
import { TokenGrants } from '../../../src/sign-in/tokens/token-grants.ts';
import { Users } from '../../../src/sign-in/users.ts';
import type { Engine } from '../../../src/storage/engine.ts';
import { newDataFolder, openStoreOf } from '../service.ts';

const returnUrl = 'https://app.example.com/in';
const issuer = 'https://idp.example.com';

/** The sign-in domain over a store, with a provider that returns the identity in `user`. */
export async function startSignInKit(t: TestContext) {
  const engine = await openStoreOf(newDataFolder(t));
  t.after(() => engine.close());
  const kit = signInKitOver(engine, randomBytes(32), Date.now());
  await kit.register();
  return kit;
}

/** The same over an open store, with nothing registered. Processes of one store share the key. */
export function signInKitOver(engine: Engine, key: Buffer, startedAt: number) {
  const clock = { now: startedAt };
  const now = () => clock.now;
  const sealer = new Sealer(fixedKeys([masterKey(key)]));
  const integrations = new Integrations(engine, sealer, now);
  const oneTimeIds = new OneTimeIds(engine, now);
  const logout: { read?: Logout } = {};
  const user = { proven: { issuer, subject: 'ada', email: 'ada@example.com' } as ProvenIdentity };
  const provider: IdentityProvider = {
    discover: async () => undefined,
    begin: async () => new URL(`${issuer}/authorize`),
    finish: async () => user.proven,
    signOutUrl: async () => undefined,
    readLogoutToken: async () => {
      if (logout.read === undefined) throw new Error('unexpected logout token');
      return logout.read;
    },
  };
  const appTokens = new TokenGrants({
    engine,
    keys: new SigningKeys({ engine, sealer, now }),
    issuer: 'https://id.example.com',
    findRegistration: (of, name) => integrations.findRegistration(of, name),
    now,
  });
  const context: SignInContext = {
    integrations,
    oneTimeIds,
    pending: new PendingSignIns({ engine, sealer, oneTimeIds, now }),
    sessions: new Sessions(engine, now),
    users: new Users(engine, now),
    accessEnding: new AccessEnding(engine, now),
    providers: { oidc: provider, google: provider, github: provider, microsoft: provider },
    appTokens,
    console: new ConsoleSignIns({ engine, now, isAdministrator: async () => false }),
    origin: 'https://id.example.com',
    prefix: '',
    now,
  };
  const register = async (name = 'web') => {
    const credentials = { IDP_CLIENT_ID: `c-${name}`, IDP_CLIENT_SECRET: 's', IDP_ISSUER: issuer };
    await integrations.register('oidc', name, { ...credentials, return_urls: [returnUrl] }, { by: 'cli' });
  };
  return {
    ...{ engine, clock, context, user, logout, provider, register, appTokens },
    enter: (over = context) => enter(over, appTokens),
  };
}

/** Signs in for an app. @returns the session, and a function that exchanges the code */
async function enter(context: SignInContext, appTokens: TokenGrants) {
  const begun = await beginForApp(context);
  const { session, request } = await finishForApp(context, begun);
  return { session, exchange: () => appTokens.grant('oidc', begun.name, request) };
}

/** A sign-in of an app that is under way; what its browser and its app keep. */
export interface Begun {
  readonly name: string;
  readonly state: string;
  readonly cookie: string;
  readonly verifier: string;
}

export async function beginForApp(context: SignInContext, name = 'web'): Promise<Begun> {
  const verifier = randomBytes(32).toString('base64url');
  const codeChallenge = createHash('sha256').update(verifier).digest('base64url');
  const link = { provider: 'oidc', name, returnTo: returnUrl, codeChallenge, codeChallengeMethod: 'S256' };
  const { checks, cookie } = await beginSignIn(context, link);
  return { name, state: checks.state, cookie, verifier };
}

/** @returns the session, its cookie, and the token request that exchanges the code */
export async function finishForApp(context: SignInContext, { name, state, cookie, verifier }: Begun) {
  const finished = await finishSignIn(context, {
    ...{ provider: 'oidc', name, requestId: 'req_1' },
    parameters: new URLSearchParams({ state, code: 'x' }),
    cookieOf: () => cookie,
    sessionCookie: undefined,
    onFound: () => undefined,
  });
  const code = new URL(finished?.location ?? '').searchParams.get('code') ?? '';
  const sent = { code, code_verifier: verifier, return_url: returnUrl };
  const request = { grant_type: 'authorization_code', ...sent } as const;
  return { session: finished?.session, cookie: finished?.cookie ?? '', request };
}

/** The engine with some of its methods replaced. */
export function engineWith(engine: Engine, methods: Partial<Engine>): Engine {
  return new Proxy(engine, {
    get: (target, name: keyof Engine) => {
      const value = methods[name] ?? target[name];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
