import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { AccessEnding } from '../../src/sign-in/access-ending.ts';
import { signOut } from '../../src/sign-in/browser-session.ts';
import type { SignInContext } from '../../src/sign-in/context.ts';
import { endByProvider } from '../../src/sign-in/end-by-provider.ts';
import { endingsRememberedMax, endingsRememberedMs, signInMsMax } from '../../src/sign-in/limits.ts';
import { userKey } from '../../src/sign-in/types.ts';
import { engineWith, startSignInKit } from '../support/sign-in/sign-in-kit.ts';

const issuer = 'https://idp.example.com';
const ada = userKey({ issuer, subject: 'ada' });
const running = new AbortController().signal;
type Kit = Awaited<ReturnType<typeof startSignInKit>>;

/** What may end the access of a user. Each has a session to end first, but for that of nobody. */
const endings: Readonly<Record<string, (kit: Kit, context?: SignInContext) => Promise<unknown>>> = {
  'a logout token of the user': (kit, over) => logOut(kit, { subject: 'ada' }, over),
  'a logout token of the session at the provider': (kit, over) =>
    logOut(kit, { providerSession: 'sid-1' }, over),
  'a logout token of both': (kit, over) => logOut(kit, { subject: 'ada', providerSession: 'sid-1' }, over),
  'a sign-out everywhere': async (kit, { sessions, accessEnding } = kit.context) => {
    const [session] = (await sessions.list({ user: ada }, 1)).sessions;
    assert.ok(session !== undefined);
    await signOut({ accessEnding }, { session, isEverywhere: true, requester: { by: 'user' } });
  },
  'the deletion of the user': ({ context }, over = context) =>
    over.accessEnding.deleteUser(ada, { by: 'cli' }),
  'an operator': ({ context }, over = context) =>
    over.accessEnding.end({ filter: { user: ada }, act: { what: 'sessions.ended', on: ada, by: 'cli' } }),
};

let tokens = 0;
function logOut(kit: Kit, named: object, context = kit.context): Promise<void> {
  kit.logout.read = { issuer, ...named, id: `token-${++tokens}`, expiresAt: kit.clock.now + 60_000 };
  return endByProvider(context, { provider: 'oidc', name: 'web', token: 'x', requestId: 'req_1' });
}

for (const [name, end] of Object.entries(endings)) {
  for (const moment of ['the exchange', 'the commit'] as const) {
    test(`${name} during ${moment} of a sign-in leaves no session`, async (t) => {
      const kit = await start(t);
      await kit.enter();
      let isDone = false;
      const once = async () => {
        if (isDone) return;
        isDone = true;
        kit.clock.now += 1;
        await end(kit);
      };
      const over = moment === 'the exchange' ? inExchange(kit, once) : beforeOpening(kit, once);
      await assert.rejects(kit.enter(over), { reason: 'ended' });
      assert.deepEqual(await sessionsOf(kit), []);
      // Whoever starts again is signed in.
      kit.clock.now += 1;
      assert.ok((await kit.enter()).session);
    });
  }

  test(`${name} that reads before a sign-in has opened its session, and commits after it, ends the session`, async (t) => {
    const kit = await start(t);
    await kit.enter();
    kit.clock.now += 1;
    let entered: Awaited<ReturnType<typeof kit.enter>> | undefined;
    const late = engineWith(kit.engine, {
      commit: async (writes) => {
        if (entered === undefined && writes.some(({ space }) => isOfEnding(space)))
          entered = await kit.enter();
        return kit.engine.commit(writes);
      },
    });
    await end(kit, { ...kit.context, accessEnding: new AccessEnding(late, kit.context.now) });
    assert.ok(entered?.session, 'the sign-in was first');
    assert.deepEqual(await sessionsOf(kit), []);
    await assert.rejects(entered.exchange());
  });
}

test('a logout of a user who has never signed in is not lost', async (t) => {
  const kit = await start(t);
  const over = inExchange(kit, () => logOut(kit, { subject: 'ada' }));
  await assert.rejects(kit.enter(over), { reason: 'ended' });
  assert.deepEqual(await sessionsOf(kit), []);
  await assert.rejects(kit.context.users.find(ada), { code: 'user_not_found' });
});

test('the logout of another user, session, integration or issuer does not disturb a sign-in', async (t) => {
  const kit = await start(t);
  await kit.context.integrations.register(
    'oidc',
    'other',
    { IDP_CLIENT_ID: 'other', IDP_CLIENT_SECRET: 's', IDP_ISSUER: issuer },
    { by: 'cli' },
  );
  const harmless = async () => {
    await logOut(kit, { subject: 'grace' });
    await logOut(kit, { subject: 'ada', providerSession: 'sid-2' });
    await logOut(kit, { providerSession: 'sid-2' });
    await logOut(kit, { issuer: 'https://other.example.com', providerSession: 'sid-1' });
    await logOut(kit, { issuer: 'https://other.example.com', subject: 'ada' });
    const act = { what: 'sessions.ended', on: 'test', by: 'cli' } as const;
    for (const filter of [
      { user: ada, integration: 'oidc/other' },
      { user: ada, session: 'ses_other' },
    ])
      await kit.context.accessEnding.end({ filter, act });
  };
  assert.ok((await kit.enter(beforeOpening(kit, harmless))).session);
});

test('a sign-in without a session id of the provider ends with any logout of its user', async (t) => {
  const kit = await start(t);
  const { providerSession: _, ...proven } = kit.user.proven;
  kit.user.proven = proven;
  const over = inExchange(kit, () => logOut(kit, { subject: 'ada', providerSession: 'sid-2' }));
  await assert.rejects(kit.enter(over), { reason: 'ended' });
});

test('an integration, or a return URL, that is removed during a sign-in opens no session', async (t) => {
  for (const [what, expected] of [
    ['removed', { code: 'integration_not_found' }],
    ['without the return URL', { reason: 'return_address' }],
    ['registered again', { reason: 'other_provider' }],
  ] as const) {
    const kit = await start(t);
    const { integrations } = kit.context;
    const fields = { IDP_CLIENT_ID: 'c', IDP_CLIENT_SECRET: 's', IDP_ISSUER: issuer };
    const over = beforeOpening(
      kit,
      async () => {
        if (what === 'without the return URL')
          await integrations.replace('oidc', 'web', fields, { by: 'cli' });
        else await integrations.remove('oidc', 'web', { by: 'cli' });
        if (what === 'registered again') await integrations.register('oidc', 'web', fields, { by: 'cli' });
      },
      'beforehand',
    );
    await assert.rejects(kit.enter(over), expected, what);
    assert.deepEqual(await sessionsOf(kit), [], what);
  }
});

test('endings are remembered as long as a sign-in may take, in a bounded record', async (t) => {
  const kit = await start(t);
  const many = async () => {
    for (let n = 0; n < 2 * endingsRememberedMax; n++) {
      kit.clock.now += 1;
      await logOut(kit, { subject: 'ada', providerSession: n === 0 ? 'sid-1' : `other-${n}` });
    }
  };
  await assert.rejects(kit.enter(inExchange(kit, many)), { reason: 'ended' });
  const text = (await kit.engine.get('service:recent-endings', `user.${ada}`)) ?? '[]';
  assert.equal(JSON.parse(text).length, endingsRememberedMax);
  kit.clock.now += signInMsMax;
  await kit.context.accessEnding.recent.sweep(running);
  assert.notEqual(await kit.engine.get('service:recent-endings', `user.${ada}`), undefined);
  kit.clock.now += endingsRememberedMs;
  await kit.context.accessEnding.recent.sweep(running);
  assert.equal(await kit.engine.get('service:recent-endings', `user.${ada}`), undefined);
});

test('an ending by a clock that was hours ahead keeps nobody out', async (t) => {
  const kit = await start(t);
  const hour = 60 * 60_000;
  kit.clock.now += 3 * hour;
  await logOut(kit, { subject: 'ada' });
  kit.clock.now -= 3 * hour;
  assert.ok((await kit.enter()).session);
});

async function start(t: TestContext): Promise<Kit> {
  const kit = await startSignInKit(t);
  kit.user.proven = { ...kit.user.proven, providerSession: 'sid-1' };
  return kit;
}

/** A context in which something happens while the provider exchanges the code. */
function inExchange({ context, provider }: Kit, happens: () => Promise<unknown>): SignInContext {
  const slow = {
    ...provider,
    finish: async (...call: Parameters<typeof provider.finish>) => {
      const proven = await provider.finish(...call);
      await happens();
      return proven;
    },
  };
  return { ...context, providers: { ...context.providers, oidc: slow } };
}

/** A context in which something happens after the last read, or the first one, before the commit that opens the session. */
function beforeOpening(
  { context }: Kit,
  happens: () => Promise<unknown>,
  moment: 'last read' | 'beforehand' = 'last read',
): SignInContext {
  let isDone = false;
  const once = async () => {
    if (!isDone) {
      isDone = true;
      await happens();
    }
  };
  const users = new Proxy(context.users, {
    get: (target, name: keyof typeof context.users) => {
      if (name !== 'signedIn') return target[name];
      return async (identity: Parameters<typeof target.signedIn>[0]) => {
        const write = await target.signedIn(identity);
        await once();
        return write;
      };
    },
  });
  const sessions = new Proxy(context.sessions, {
    get: (target, name: keyof typeof context.sessions) => {
      const value = target[name];
      if (name !== 'begin' || moment !== 'beforehand')
        return typeof value === 'function' ? value.bind(target) : value;
      return async (...call: Parameters<typeof target.begin>) => {
        await once();
        return target.begin(...call);
      };
    },
  });
  return { ...context, users, sessions };
}

function isOfEnding(space: string): boolean {
  return space === 'service:recent-endings' || space === 'service:access-endings';
}

async function sessionsOf({ context }: Kit): Promise<readonly string[]> {
  return (await context.sessions.list({}, 100)).sessions.map(({ id }) => id);
}
