import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { IdentityProvider } from '../../src/identity/provider.ts';
import { fixedKeys, masterKey } from '../../src/secrets/key-file.ts';
import { Sealer } from '../../src/secrets/sealer.ts';
import { AccessEnding } from '../../src/sign-in/access-ending.ts';
import { beginSignIn } from '../../src/sign-in/begin-sign-in.ts';
import { ConsoleSignIns } from '../../src/sign-in/console-sign-ins.ts';
import type { AppTokens, SignInContext } from '../../src/sign-in/context.ts';
import { finishSignIn } from '../../src/sign-in/finish-sign-in.ts';
import { Integrations } from '../../src/sign-in/integrations.ts';
import { OneTimeIds } from '../../src/sign-in/one-time-ids.ts';
import { PendingSignIns } from '../../src/sign-in/pending-sign-ins.ts';
import { Sessions } from '../../src/sign-in/sessions.ts';
import { Users } from '../../src/sign-in/users.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';

type CodeRequest = Parameters<AppTokens['newCode']>;

const challenge = 'C'.repeat(43);
const plain = 'https://app.example.com/in';
const withQuery = 'https://app.example.com/in?from=us&x=%20a+b';
const ours = 'https://id.example.com/in';

test('gives an app on another origin a code that is bound to its return URL and challenge', async (t) => {
  const { signIn, codeRequests } = await startParts(t);
  const finished = await signIn({ returnTo: plain, codeChallenge: challenge, codeChallengeMethod: 'S256' });
  assert.equal(finished.location, `${plain}?code=one%2Ftime`);
  assert.deepEqual(codeRequests, [[finished.session, { returnUrl: plain, codeChallenge: challenge }]]);
});

test('keeps every character of the registered return URL', async (t) => {
  const { signIn } = await startParts(t);
  const link = { returnTo: withQuery, codeChallenge: challenge, codeChallengeMethod: 'S256' };
  assert.equal((await signIn(link)).location, `${withQuery}&code=one%2Ftime`);
});

test('gives no code to an app without an S256 challenge, nor to a page of its own origin', async (t) => {
  const { signIn, codeRequests } = await startParts(t);
  for (const link of [
    { returnTo: plain },
    { returnTo: plain, codeChallenge: challenge },
    { returnTo: plain, codeChallenge: challenge, codeChallengeMethod: 'plain' },
    { returnTo: plain, codeChallenge: 'short', codeChallengeMethod: 'S256' },
    { returnTo: plain, codeChallengeMethod: 'S256' },
    { returnTo: '/in', codeChallenge: challenge, codeChallengeMethod: 'S256' },
    { returnTo: ours, codeChallenge: challenge, codeChallengeMethod: 'S256' },
  ]) {
    await assert.rejects(signIn(link), { reason: 'app_challenge' }, JSON.stringify(link));
  }
  assert.equal((await signIn({ returnTo: ours })).location, ours);
  assert.deepEqual(codeRequests, []);
});

test('a sign-in keeps the session of the same user, and ends that of another user', async (t) => {
  const { signIn, sessions, be } = await startParts(t);
  const first = await signIn({});
  const again = await signIn({}, first.cookie);
  assert.equal(again.session.id, first.session.id);
  be('user-2');
  await signIn({}, again.cookie);
  assert.equal(await sessions.find(again.cookie), undefined);
});

/** The sign-in functions over a store, with a provider that accepts every sign-in and a list of requested codes. */
async function startParts(t: TestContext) {
  const engine = await openStoreOf(newDataFolder(t));
  t.after(() => engine.close());
  const sealer = new Sealer(fixedKeys([masterKey(Buffer.alloc(32, 7))]));
  const codeRequests: CodeRequest[] = [];
  let subject = 'user-1';
  const provider: IdentityProvider = {
    discover: async () => undefined,
    begin: async (_client, { state }) => new URL(`https://idp.example.com/?state=${state}`),
    finish: async () => ({ issuer: 'https://idp.example.com', subject }),
    signOutUrl: async () => undefined,
    readLogoutToken: async () => assert.fail('unexpected logout token'),
  };
  const oneTimeIds = new OneTimeIds(engine, Date.now);
  const parts: SignInContext = {
    integrations: new Integrations(engine, sealer, Date.now),
    pending: new PendingSignIns({ engine, sealer, oneTimeIds, now: Date.now }),
    oneTimeIds,
    sessions: new Sessions(engine, Date.now),
    users: new Users(engine, Date.now),
    accessEnding: new AccessEnding(engine, Date.now),
    providers: { google: provider, microsoft: provider, github: provider, oidc: provider },
    appTokens: {
      newCode: (...request) => {
        codeRequests.push(request);
        return { code: 'one/time', writes: [] };
      },
    },
    console: new ConsoleSignIns({ engine, now: Date.now, isAdministrator: async () => false }),
    origin: 'https://id.example.com',
    prefix: '',
    now: Date.now,
  };
  const place = { provider: 'google', name: 'web' };
  const fields = { IDP_CLIENT_ID: 'a', IDP_CLIENT_SECRET: 'b', return_urls: [plain, withQuery, ours] };
  await parts.integrations.register('google', 'web', fields, { by: 'open' });
  const signIn = async (link: object, sessionCookie?: string) => {
    const begun = await beginSignIn(parts, { ...place, ...link });
    const finished = await finishSignIn(parts, {
      ...place,
      parameters: new URLSearchParams({ state: begun.checks.state, code: 'x' }),
      cookieOf: () => begun.cookie,
      sessionCookie,
      requestId: 'req_1',
      onFound: () => undefined,
    });
    assert.ok(finished);
    return finished;
  };
  const be = (user: string) => {
    subject = user;
  };
  return { signIn, codeRequests, sessions: parts.sessions, be };
}
