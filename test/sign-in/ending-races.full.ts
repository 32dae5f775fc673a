import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditTrail } from '../../src/audit/audit.ts';
import { AccessEnding } from '../../src/sign-in/access-ending.ts';
import { endingRecoveryMs, sessionsPerUserMax } from '../../src/sign-in/limits.ts';
import { type Identity, userKey } from '../../src/sign-in/types.ts';
import type { Engine } from '../../src/storage/engine.ts';
import { engineWith, startSignInKit } from '../support/sign-in/sign-in-kit.ts';

const running = new AbortController().signal;
const ada: Identity = {
  issuer: 'https://idp.example.com',
  subject: 'ada',
  provider: 'oidc',
  integration: 'web',
};

for (const filter of [{}, { integration: 'oidc/web' }, 'delete'] as const) {
  test(`a sign-in while access ends has session and tokens, or neither: ${JSON.stringify(filter)}`, async (t) => {
    const { engine, context, user, enter, clock } = await startSignInKit(t);
    await enter();
    const id = userKey(user.proven);
    // The sign-in happens after the ending has read and before it commits.
    let entered: Awaited<ReturnType<typeof enter>> | undefined;
    const late = engineWith(engine, {
      commit: async (writes) => {
        clock.now += 5;
        entered ??= await enter();
        return engine.commit(writes);
      },
    });
    const ending = new AccessEnding(late, context.now);
    if (filter === 'delete') await ending.deleteUser(id, { by: 'cli' });
    else {
      const act = { what: 'sessions.ended', on: id, by: 'cli' } as const;
      await ending.end({ filter: { user: id, ...filter }, act });
    }
    const sessions = (await context.sessions.list({ user: id }, 10)).sessions.map(({ id: one }) => one);
    const isHere = sessions.includes(entered?.session?.id ?? '');
    const isGranted = await entered?.exchange().then(
      () => true,
      () => false,
    );
    assert.equal(isGranted, isHere);
    if (filter === 'delete') assert.equal(await isKnown(context.users.find(id)), isHere);
  });
}

test('a sign-out reads only records of its user', async (t) => {
  const { engine, context } = await startSignInKit(t);
  for (let n = 0; n < 300; n++) await context.sessions.begin({ identity: { ...ada, subject: `user-${n}` } });
  const { session } = await context.sessions.begin({ identity: ada });
  let read = 0;
  const counted = engineWith(engine, {
    scan: async (space, options) => {
      read += options?.limit ?? 1_000;
      return engine.scan(space, options);
    },
  });
  const user = userKey(ada);
  const act = { what: 'user.signed_out', on: user, by: 'user' } as const;
  await new AccessEnding(counted, context.now).end({ filter: { user, session: session.id }, act });
  assert.ok(read <= 64, `${read} records were read`);
});

test('the oldest session ends when a user has too many', async (t) => {
  const { engine, context, enter, clock } = await startSignInKit(t);
  const first = await enter();
  for (let n = 0; n < sessionsPerUserMax; n++) {
    clock.now += 1;
    await enter();
  }
  const { sessions } = await context.sessions.list({}, 1_000);
  assert.equal(sessions.length, sessionsPerUserMax);
  assert.ok(!sessions.some(({ id }) => id === first.session?.id));
  await assert.rejects(first.exchange());
  assert.equal((await actsOf(engine)).filter((what) => what === 'sessions.ended').length, 1);
});

test('a deletion that is interrupted and repeated is one event, and a sign-in meanwhile creates a new user', async (t) => {
  const { engine, context, clock } = await startSignInKit(t);
  const begin = () =>
    context.sessions.begin({ identity: ada }, async () => [await context.users.signedIn(ada)]);
  for (let n = 0; n < 150; n++) await begin();
  const user = userKey(ada);
  let commits = 0;
  const dying = engineWith(engine, {
    commit: async (writes) => {
      if (++commits === 2) throw new Error('the process has died');
      return engine.commit(writes);
    },
  });
  await assert.rejects(new AccessEnding(dying, context.now).deleteUser(user, { by: 'cli' }));
  clock.now += endingRecoveryMs / 2;
  const signedInAgainAt = new Date(clock.now).toISOString();
  await begin();
  clock.now += endingRecoveryMs;
  await context.accessEnding.recover(running);
  assert.equal((await context.users.find(user)).firstSignInAt, signedInAgainAt);
  assert.equal((await context.sessions.list({ user }, 10)).sessions.length, 1);

  for (let n = 0; n < 150; n++) await begin();
  commits = 0;
  await assert.rejects(new AccessEnding(dying, context.now).deleteUser(user, { by: 'cli' }));
  await context.accessEnding.deleteUser(user, { by: 'cli' });
  assert.deepEqual(await actsOf(engine), ['user.deleted', 'user.deleted']);
  assert.equal(await isKnown(context.users.find(user)), false);
});

test('deletes a user who has sessions and no record', async (t) => {
  const { context } = await startSignInKit(t);
  await context.sessions.begin({ identity: ada });
  await context.accessEnding.deleteUser(userKey(ada), { by: 'cli' });
  assert.deepEqual((await context.sessions.list({}, 10)).sessions, []);
  for (const id of [userKey(ada), 'x', ''])
    await assert.rejects(context.accessEnding.deleteUser(id, { by: 'cli' }), { code: 'user_not_found' });
});

test('an ending without sessions is no audit event', async (t) => {
  const { engine, context } = await startSignInKit(t);
  const act = { what: 'sessions.ended', on: 'integration=oidc/none', by: 'cli' } as const;
  assert.equal(await context.accessEnding.end({ filter: { integration: 'oidc/none' }, act }), 0);
  assert.equal(await context.accessEnding.end({ filter: { user: userKey(ada) }, act }), 0);
  assert.deepEqual(await actsOf(engine), []);
});

async function actsOf(engine: Engine): Promise<string[]> {
  const acts = [];
  for await (const { what } of auditTrail(engine))
    if (/^(user\.deleted|sessions)/.test(what)) acts.push(what);
  return acts;
}

function isKnown(finding: Promise<unknown>): Promise<boolean> {
  return finding.then(
    () => true,
    () => false,
  );
}
