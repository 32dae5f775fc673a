import { createHash, randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { IdentityProvider, ProvenIdentity } from '../../../src/identity/provider.ts';
import { openLog } from '../../../src/log.ts';
import { noMetrics } from '../../../src/metrics.ts';
import { fixedKeys, masterKey } from '../../../src/secrets/master-keys.ts';
import { Sealer } from '../../../src/secrets/sealer.ts';
import { AccessEnding } from '../../../src/sign-in/access-ending.ts';
import { beginSignIn } from '../../../src/sign-in/begin-sign-in.ts';
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
  const clock = { now: Date.now() };
  const now = () => clock.now;
  const sealer = new Sealer(fixedKeys([masterKey(randomBytes(32))]));
  const integrations = new Integrations(engine, sealer, now);
  const oneTimeIds = new OneTimeIds(engine, now);
  const user = { proven: { issuer, subject: 'ada', email: 'ada@example.com' } as ProvenIdentity };
  const provider: IdentityProvider = {
    discover: async () => undefined,
    begin: async () => new URL(`${issuer}/authorize`),
    finish: async () => user.proven,
    signOutUrl: async () => undefined,
    readLogoutToken: async () => {
      throw new Error('unexpected logout token');
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
    isAdministrator: async () => false,
    origin: 'https://id.example.com',
    prefix: '',
    log: openLog('silent'),
    metrics: noMetrics,
    now,
  };
  const fields = { IDP_CLIENT_ID: 'c', IDP_CLIENT_SECRET: 's', IDP_ISSUER: issuer, return_urls: [returnUrl] };
  await integrations.register('oidc', 'web', fields, { by: 'cli' });
  return { engine, clock, context, user, enter: (over = context) => enter(over, appTokens) };
}

/** Signs in for an app. @returns the session, and a function that exchanges the code */
async function enter(context: SignInContext, appTokens: TokenGrants) {
  const verifier = randomBytes(32).toString('base64url');
  const codeChallenge = createHash('sha256').update(verifier).digest('base64url');
  const place = { provider: 'oidc', name: 'web' };
  const link = { ...place, returnTo: returnUrl, codeChallenge, codeChallengeMethod: 'S256' };
  const begun = await beginSignIn(context, link);
  const finished = await finishSignIn(context, {
    ...place,
    parameters: new URLSearchParams({ state: begun.checks.state, code: 'x' }),
    cookieOf: () => begun.cookie,
    sessionCookie: undefined,
    requestId: 'req_1',
    onFound: () => undefined,
  });
  const code = new URL(finished?.location ?? '').searchParams.get('code') ?? '';
  const exchange = () =>
    appTokens.grant('oidc', 'web', {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      return_url: returnUrl,
    });
  return { session: finished?.session, exchange };
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
