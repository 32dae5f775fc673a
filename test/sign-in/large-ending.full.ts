import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { AccessEnding } from '../../src/sign-in/access-ending.ts';
import { endingRecoveryMs } from '../../src/sign-in/limits.ts';
import { Sessions } from '../../src/sign-in/sessions.ts';
import { type Identity, userKey } from '../../src/sign-in/types.ts';
import { Users } from '../../src/sign-in/users.ts';
import type { Engine, Space } from '../../src/storage/engine.ts';
import { commitWritesMax } from '../../src/storage/limits.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';

const ada = {
  issuer: 'https://idp.example.com',
  subject: 'ada',
  provider: 'oidc',
  integration: 'web',
} as const;
const grace = { ...ada, subject: 'grace' } as const;
/** The audit entry, the record for sign-ins that are under way, and the check of the user. */
const besides = 3;
const sessionsEach = 2 * commitWritesMax + 30;
const running = new AbortController().signal;

test('ends as many sessions as fit into one commit in a single commit', async (t) => {
  const { engine, begin, end, commits } = await start(t);
  for (let n = 0; n < commitWritesMax - besides; n++) await begin(ada);
  const before = commits();
  assert.equal(await end({ user: userKey(ada) }), commitWritesMax - besides);
  assert.equal(commits() - before, 1);
  assert.equal(await countIn(engine, 'service:sessions'), 0);
});

for (const filter of [{ user: userKey(ada) }, { integration: 'oidc/web' }]) {
  const of = Object.keys(filter).join();
  test(`another process finishes an ending that was interrupted at any commit: by ${of}`, async (t) => {
    const { engine, failing, begin, recover, end, later } = await start(t);
    for (let dies = 1; ; dies++) {
      for (let n = await countIn(engine, 'service:sessions'); n < sessionsEach; n++) await begin(ada);
      const ended = await end(filter, failing(dies)).catch(() => undefined);
      if (ended !== undefined) {
        assert.equal(ended, sessionsEach);
        assert.ok(dies > 3, 'it takes several commits');
        return;
      }
      const hasBegun = (await countIn(engine, 'service:access-endings')) > 0;
      later(endingRecoveryMs - 1);
      await recover();
      assert.equal(
        await countIn(engine, 'service:access-endings'),
        hasBegun ? 1 : 0,
        'it may still be running',
      );
      // A session that begins after the ending began is not ended.
      const after = await begin(ada);
      later(1);
      await recover();
      const left = await countIn(engine, 'service:sessions');
      assert.equal(left, hasBegun ? 1 : sessionsEach + 1, `died at commit ${dies}`);
      assert.equal(await countIn(engine, 'service:access-endings'), 0);
      assert.ok(await after.isHere());
    }
  });
}

test('keeps a user who signs in again while an interrupted deletion waits', async (t) => {
  const { engine, failing, begin, recover, later, startedAt } = await start(t);
  for (let n = 0; n < sessionsEach; n++) await begin(ada);
  await begin(grace);
  const ending = new AccessEnding(failing(3), () => startedAt);
  await assert.rejects(ending.deleteUser(userKey(ada), { by: 'cli' }));
  later(endingRecoveryMs);
  const back = await begin(ada);
  await recover();
  assert.ok(await back.isHere());
  assert.equal(await countIn(engine, 'service:users'), 2);
  assert.equal(await countIn(engine, 'service:sessions'), 2);
});

/** A store with a clock that the test moves, and the same store in a process that dies at a commit. */
async function start(t: TestContext) {
  const engine = await openStoreOf(newDataFolder(t));
  t.after(() => engine.close());
  let passedMs = 0;
  const startedAt = Date.now();
  const now = () => startedAt + passedMs;
  let count = 0;
  const counted = withCommits(engine, async (writes) => {
    count++;
    return engine.commit(writes);
  });
  const failing = (dies: number) => {
    let commits = 0;
    return withCommits(engine, async (writes) => {
      if (++commits >= dies) throw new Error('the process has died');
      return engine.commit(writes);
    });
  };
  const sessions = new Sessions(engine, now);
  const users = new Users(engine, now);
  const begin = async (identity: Identity) => {
    const { cookie } = await sessions.begin({ identity }, async () => [await users.signedIn(identity)]);
    return { isHere: async () => (await sessions.find(cookie)) !== undefined };
  };
  const act = { what: 'sessions.ended', on: 'a test', by: 'cli' } as const;
  return {
    engine,
    startedAt,
    failing,
    begin,
    commits: () => count,
    end: (filter: object, over: Engine = counted) => new AccessEnding(over, now).end({ filter, act }),
    recover: () => new AccessEnding(engine, now).recover(running),
    later: (ms: number) => {
      passedMs += ms;
    },
  };
}

function withCommits(engine: Engine, commit: Engine['commit']): Engine {
  return new Proxy(engine, {
    get: (target, name: keyof Engine) => {
      if (name === 'commit') return commit;
      const value = target[name];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function countIn(engine: Engine, space: Space): Promise<number> {
  return (await engine.describe(space))?.count ?? 0;
}
