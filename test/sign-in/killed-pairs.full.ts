import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { endingRecoveryMs, exchangeRepeatMsMax } from '../../src/sign-in/limits.ts';
import { userKey } from '../../src/sign-in/types.ts';
import { between, pick, randomFrom, seedOf } from '../support/random.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';
import {
  type EndingWork,
  endingWorks,
  type Order,
  providerSessionOf,
  type Work,
} from '../support/sign-in/killed-child.ts';
import { beginForApp, finishForApp, signInKitOver } from '../support/sign-in/sign-in-kit.ts';

/** The children open the embedded store, whatever store the tests run on. */
const skip =
  process.env.TEST_STORE === 'dynamodb' ? 'kills at commits of the embedded store' : (false as const);
const rounds = process.env.LONG === '1' ? 150 : 4;
const program = join(import.meta.dirname, '../support/sign-in/killed-child.ts');
/** Processes start while others work. */
const standbyChildren = 3;
const running = new AbortController().signal;
const issuer = 'https://idp.example.com';

/** Two processes are killed in each round; what they did is as if each had been done whole, or not at all. */
test('endings and sign-ins that are killed twice are complete or have not happened', { skip }, async (t) => {
  const drill = await start(t);
  for (let n = 0; n < rounds; n++) {
    const works: readonly Work[] = ['finish', ...endingWorks];
    const first = pick(drill.random, works);
    // The same work again, or another one.
    const second = drill.random() < 0.5 && first !== 'finish' ? first : pick(drill.random, endingWorks);
    await endingRound(drill, n, [first, second]);
  }
});

test('an exchange of a code that is killed twice returns the same tokens, once', { skip }, async (t) => {
  const drill = await start(t);
  for (let n = 0; n < Math.ceil(rounds / 2); n++) await exchangeRound(drill, n);
});

type Drill = Awaited<ReturnType<typeof start>>;

async function endingRound(drill: Drill, n: number, works: readonly [Work, Work]): Promise<void> {
  const { kit, kill, later } = drill;
  const round = await newRound(drill, n);
  const { enter, user } = round;
  const before = await enter();
  later();
  const pending = await beginForApp(kit.context, round.integration);
  const other = await beginForApp(kit.context, round.integration);
  let [hasEnded, isPendingOver] = [false, false];
  const steps: string[] = [];
  let middle: Awaited<ReturnType<typeof enter>> | undefined;
  for (const work of works) {
    later();
    const at = kit.clock.now;
    steps.push(await kill({ ...round, work, begun: pending, code: '' }));
    if (isEnding(work) && (await isDurable(drill, work, at, before.cookie))) {
      hasEnded = true;
      middle = undefined;
      isPendingOver ||= work !== 'integration';
    }
    later();
    middle ??= await enter().catch(() => undefined);
  }
  const where = `round ${n}: ${steps.join(', ')}`;
  // The one from before the last durable ending is gone, and one from after it lives.
  later();
  const after = await enter();
  drill.kit.clock.now += endingRecoveryMs + 1;
  await kit.context.accessEnding.recover(running);
  assert.equal(await before.lives(), !hasEnded, `${where}: from before`);
  assert.equal(await after.lives(), true, `${where}: from after`);
  if (middle !== undefined) assert.equal(await middle.lives(), true, `${where}: from between`);
  const finished = await finishForApp(kit.context, other).then(
    () => 'finished',
    (error: { reason?: string }) => error.reason,
  );
  assert.equal(finished, isPendingOver ? 'ended' : 'finished', `${where}: a sign-in under way`);
  for await (const _ of (await kit.engine.scan('service:access-endings'))?.chunks ?? [])
    assert.fail(`${where}: an ending is not complete`);
  // No session but those that the browsers know, and the one of a killed sign-in whose browser never learned of it.
  if (isPendingOver && works[1] !== 'integration' && works[0] !== 'finish') {
    const { sessions } = await kit.context.sessions.list({ user }, 100);
    assert.ok(
      sessions.every(({ createdAt }) => createdAt > round.startedAt),
      where,
    );
  }
}

async function exchangeRound(drill: Drill, n: number): Promise<void> {
  const { kit, kill, later } = drill;
  const round = await newRound(drill, n);
  const begun = await beginForApp(kit.context, round.integration);
  const { request } = await finishForApp(kit.context, begun);
  const steps: string[] = [];
  for (let kills = 0; kills < 2; kills++) {
    later();
    steps.push(await kill({ ...round, work: 'exchange', begun, code: request.code }));
  }
  const where = `round ${n}: ${steps.join(', ')}`;
  const exchange = () => kit.appTokens.grant('oidc', round.integration, request);
  const first = await exchange();
  assert.deepEqual(await exchange(), first, where);
  const refresh = (token: string) =>
    kit.appTokens.grant('oidc', round.integration, { grant_type: 'refresh_token', refresh_token: token });
  const next = await refresh(first.refreshToken);
  kit.clock.now += exchangeRepeatMsMax + 1;
  assert.ok(await refresh(next.refreshToken), where);
  const last = await refresh((await refresh(next.refreshToken)).refreshToken);
  await assert.rejects(exchange(), where);
  await assert.rejects(refresh(last.refreshToken), where);
}

/** A user and an integration of their own, so that the rounds are independent. */
async function newRound({ kit, tokens }: Drill, n: number) {
  const subject = `user-${n}`;
  const integration = `web-${n}`;
  await kit.register(integration);
  kit.user.proven = { issuer, subject, providerSession: providerSessionOf(subject) };
  const enter = async () => {
    const { cookie, request } = await finishForApp(kit.context, await beginForApp(kit.context, integration));
    const { refreshToken } = await kit.appTokens.grant('oidc', integration, request);
    const lives = async () => {
      const isHere = (await kit.context.sessions.find(cookie)) !== undefined;
      const refreshed = kit.appTokens.grant('oidc', integration, {
        grant_type: 'refresh_token',
        refresh_token: refreshToken,
      });
      const isInApp = await refreshed.then(
        () => true,
        () => false,
      );
      assert.equal(isInApp, isHere, 'session and tokens end together');
      return isHere;
    };
    return { cookie, lives };
  };
  const user = userKey({ issuer, subject });
  return {
    subject,
    integration,
    user,
    enter,
    startedAt: kit.clock.now,
    tokenId: `token-${n}-${tokens.count++}`,
  };
}

function isEnding(work: Work): work is EndingWork {
  return (endingWorks as readonly Work[]).includes(work);
}

/** Whether the ending that was requested at this time is in the store. */
async function isDurable({ kit }: Drill, work: EndingWork, at: number, cookie: string): Promise<boolean> {
  const stored: string[] = [];
  for (const space of ['service:recent-endings', 'service:access-endings'] as const)
    for await (const chunk of (await kit.engine.scan(space))?.chunks ?? []) stored.push(chunk.toString());
  if (work !== 'integration') return stored.join().includes(`at\\":${at},`);
  return (
    stored.join().includes(`beganAt\\":${at},`) || (await kit.context.sessions.find(cookie)) === undefined
  );
}

async function start(t: TestContext) {
  const random = randomFrom(seedOf(t));
  const data = newDataFolder(t);
  const engine = await openStoreOf(data);
  t.after(() => engine.close());
  const key = randomBytes(32);
  const kit = signInKitOver(engine, key, Date.now());
  const later = () => {
    kit.clock.now += 10;
  };
  const standby = Array.from({ length: standbyChildren }, () => standbyChild(t, data, key));
  const kill = async (
    order: Omit<Order, 'now' | 'when' | 'commit' | 'enter' | 'startedAt'>,
  ): Promise<string> => {
    const { child, ready } = standby.shift() as ReturnType<typeof standbyChild>;
    standby.push(standbyChild(t, data, key));
    await ready;
    const [when, commit] = [pick(random, ['before', 'during', 'after'] as const), between(random, 1, 4)];
    const { work, subject, user, integration, tokenId, begun, code } = order;
    const ended = once(child, 'exit');
    child.send({ work, subject, user, integration, tokenId, begun, code, now: kit.clock.now, when, commit });
    const [, signal] = await ended;
    assert.equal(signal, 'SIGKILL');
    return `${work} killed ${when} commit ${commit}`;
  };
  return { kit, random, kill, later, tokens: { count: 0 } };
}

/** A process that has the store open and waits for its order: it starts while others work. */
function standbyChild(t: TestContext, data: string, key: Buffer) {
  const child = fork(program, [data, key.toString('base64url')], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  t.after(() => child.kill('SIGKILL'));
  return { child, ready: once(child, 'message') };
}
