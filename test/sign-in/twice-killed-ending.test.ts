import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { auditTrail } from '../../src/audit/audit.ts';
import { AccessEnding } from '../../src/sign-in/access-ending.ts';
import { endingRecoveryMs } from '../../src/sign-in/limits.ts';
import { userKey } from '../../src/sign-in/types.ts';
import type { Engine } from '../../src/storage/engine.ts';
import { commitWritesMax } from '../../src/storage/limits.ts';
import { engineWith, startSignInKit } from '../support/sign-in/sign-in-kit.ts';

const ada = {
  issuer: 'https://idp.example.com',
  subject: 'ada',
  provider: 'oidc',
  integration: 'web',
} as const;
const user = userKey(ada);
const running = new AbortController().signal;

/** Endings that take several commits, and how many sessions each needs for that. */
const kinds = {
  'of an integration': {
    sessions: 3,
    end: (over: AccessEnding) => over.end({ filter: { integration: 'oidc/web' }, act }),
  },
  'of a session at the provider': {
    sessions: 3,
    end: (over: AccessEnding) => over.end({ filter: { providerSession: 'sid-1' }, act }),
  },
  'of a user': {
    sessions: commitWritesMax + 5,
    end: (over: AccessEnding) => over.end({ filter: { user }, act }),
  },
  'of a deleted user': {
    sessions: commitWritesMax + 5,
    end: (over: AccessEnding) => over.deleteUser(user, { by: 'cli' }),
  },
} as const;
const act = { what: 'sessions.ended', on: 'a test', by: 'cli' } as const;

for (const [name, { sessions, end }] of Object.entries(kinds)) {
  test(`an ending ${name} that is killed twice, at any two commits, ends what began before the second one`, async (t) => {
    const { kit, begin, later, count } = await start(t);
    for (let first = 2, isOver = false; !isOver; first++) {
      for (let second = 1; ; second++) {
        while ((await count()) < sessions) await begin();
        const killed = await dies(() => end(new AccessEnding(dying(kit.engine, first), kit.context.now)));
        later(10);
        const between = await begin();
        later(10);
        const killedAgain = await dies(() =>
          end(new AccessEnding(dying(kit.engine, second), kit.context.now)),
        );
        later(10);
        const after = await begin();
        later(endingRecoveryMs + 1);
        await kit.context.accessEnding.recover(running);
        const where = `killed before commits ${first} and ${second}`;
        assert.equal(await after.isHere(), true, where);
        // Killed before its first commit, the second one has not happened.
        if (second > 1) {
          assert.equal(await between.isHere(), false, where);
          assert.equal(await count(), 1, where);
        }
        assert.equal(await markers(kit.engine), 0, where);
        isOver ||= !killed;
        if (!killedAgain || (process.env.LONG !== '1' && second === 3)) break;
      }
      if (process.env.LONG !== '1' && first === 3) break;
    }
  });
}

test('an ending that one process finishes late leaves the same ending of another process, which has died, to recovery', async (t) => {
  const { kit, begin, later, count } = await start(t);
  await begin();
  const filter = { integration: 'oidc/web' };
  let between: Awaited<ReturnType<typeof begin>> | undefined;
  // The first process has read the sessions and is about to remove its record.
  const slow = engineWith(kit.engine, {
    commit: async (writes) => {
      const isLast = writes.some(
        ({ kind, space }) => kind === 'delete' && space === 'service:access-endings',
      );
      if (isLast && between === undefined) {
        later(10);
        between = await begin();
        later(10);
        assert.ok(
          await dies(() => new AccessEnding(dying(kit.engine, 2), kit.context.now).end({ filter, act })),
        );
      }
      return kit.engine.commit(writes);
    },
  });
  assert.equal(await new AccessEnding(slow, kit.context.now).end({ filter, act }), 1);
  assert.equal(await count(), 1);
  later(endingRecoveryMs + 1);
  await kit.context.accessEnding.recover(running);
  assert.equal(await between?.isHere(), false);
  assert.equal(await markers(kit.engine), 0);
  // The second one repeats what the audit has already.
  assert.equal(await acts(kit.engine), 1);
});

test('an ending that is killed at any commit, and its repetition, are in the audit once', async (t) => {
  const { kit, begin } = await start(t);
  for (let first = 1; ; first++) {
    await begin();
    const before = await acts(kit.engine);
    const filter = { integration: 'oidc/web' };
    const isKilled = await dies(() =>
      new AccessEnding(dying(kit.engine, first), kit.context.now).end({ filter, act }),
    );
    await kit.context.accessEnding.end({ filter, act });
    assert.equal(await acts(kit.engine), before + 1, `killed before commit ${first}`);
    if (!isKilled) return;
  }
});

async function start(t: TestContext) {
  const kit = await startSignInKit(t);
  const { sessions, users } = kit.context;
  const begin = async () => {
    const { cookie } = await sessions.begin({ identity: ada, providerSession: 'sid-1' }, async () => [
      await users.signedIn(ada),
    ]);
    return { isHere: async () => (await sessions.find(cookie)) !== undefined };
  };
  const later = (ms: number) => {
    kit.clock.now += ms;
  };
  const count = async () => (await sessions.list({}, 1_000)).sessions.length;
  return { kit, begin, later, count };
}

/** The engine of a process that dies before a commit. */
function dying(engine: Engine, at: number): Engine {
  let commits = 0;
  return engineWith(engine, {
    commit: async (writes) => {
      if (++commits >= at) throw new Error('the process has died');
      return engine.commit(writes);
    },
  });
}

function dies(work: () => Promise<unknown>): Promise<boolean> {
  return work().then(
    () => false,
    (error: Error) => {
      if (error.message !== 'the process has died') throw error;
      return true;
    },
  );
}

async function markers(engine: Engine): Promise<number> {
  let count = 0;
  for await (const _ of (await engine.scan('service:access-endings'))?.chunks ?? []) count++;
  return count;
}

async function acts(engine: Engine): Promise<number> {
  let count = 0;
  for await (const { what } of auditTrail(engine)) if (what === 'sessions.ended') count++;
  return count;
}
