import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { AccessEnding } from '../../../src/sign-in/access-ending.ts';
import {
  refreshRepeatMsMax,
  refreshTokenIdleMsMax,
  refreshTokenMsMax,
  signInCodeMs,
} from '../../../src/sign-in/limits.ts';
import type { SessionFilter } from '../../../src/sign-in/types.ts';
import { userKey } from '../../../src/sign-in/types.ts';
import { pagesOf } from '../../../src/storage/item-text.ts';
import {
  ada,
  firstToken,
  openShared,
  refreshOf,
  type Shared,
  signIn,
  startProcess,
} from '../../support/sign-in/token-service.ts';

async function start(t: TestContext) {
  const shared = await openShared(t);
  const process = await startProcess(t, shared);
  const refresh = async (token: string) => {
    const { status, body } = await process.token(refreshOf(token));
    return { status, token: body.refresh_token as string };
  };
  return { shared, process, refresh };
}

async function countOf({ engine }: Shared, space: Parameters<typeof pagesOf>[1]): Promise<number> {
  let count = 0;
  for await (const page of pagesOf(engine, space)) count += page.length;
  return count;
}

test('each refresh token is valid once, and returns the next', async (t) => {
  const { shared, process, refresh } = await start(t);
  let token = await firstToken(process);
  const seen = new Set([token]);
  for (let times = 0; times < 5; times++) {
    shared.now += 60_000;
    const next = await refresh(token);
    assert.equal(next.status, 200);
    ({ token } = next);
    seen.add(token);
  }
  assert.equal(seen.size, 6);
});

test('the reuse of a refresh token revokes its family (RFC 9700, 4.14.2)', async (t) => {
  const { shared, process, refresh } = await start(t);
  const stolen = await firstToken(process);
  const other = await firstToken(process);
  const second = await refresh(stolen);
  shared.now += refreshRepeatMsMax + 1;
  assert.equal((await refresh(stolen)).status, 400);
  assert.equal((await refresh(second.token)).status, 400);
  assert.equal((await refresh(other)).status, 200, 'another sign-in of the same user is not affected');
  assert.match(process.logged(), /a refresh token was used again: its family has ended/);
});

test('a refresh token that is two generations old revokes its family immediately', async (t) => {
  const { process, refresh } = await start(t);
  const first = await firstToken(process);
  const second = await refresh(first);
  const third = await refresh(second.token);
  assert.equal((await refresh(first)).status, 400);
  assert.equal((await refresh(third.token)).status, 400);
});

test('a retry within ten seconds returns the same new token', async (t) => {
  const { shared, process, refresh } = await start(t);
  const first = await firstToken(process);
  const second = await refresh(first);
  shared.now += refreshRepeatMsMax;
  const repeated = await refresh(first);
  assert.deepEqual([repeated.status, repeated.token], [200, second.token]);
  assert.equal((await refresh(second.token)).status, 200);
});

test('concurrent refreshes in several processes return the same new token', async (t) => {
  const { shared, process, refresh } = await start(t);
  const others = await Promise.all([1, 2].map(() => startProcess(t, shared)));
  const first = await firstToken(process);
  const responses = await Promise.all(
    [process, ...others].flatMap((each) => [1, 2, 3].map(() => each.token(refreshOf(first)))),
  );
  assert.deepEqual([...new Set(responses.map(({ status }) => status))], [200]);
  const tokens = new Set(responses.map(({ body }) => body.refresh_token as string));
  assert.equal(tokens.size, 1);
  assert.equal((await refresh([...tokens][0] as string)).status, 200);
});

test('rejects a refresh token at another integration, and still accepts it at its own', async (t) => {
  const { process, refresh } = await start(t);
  const token = await firstToken(process);
  for (const integration of ['oidc/app', 'google/web']) {
    assert.equal((await process.token(refreshOf(token), integration)).status, 400);
  }
  assert.equal((await refresh(token)).status, 200);
});

test('rejects a malformed or changed refresh token', async (t) => {
  const { process } = await start(t);
  const token = await firstToken(process);
  const [user, family, random] = token.split('.') as [string, string, string];
  const foreign = userKey({ issuer: 'https://id.example.com', subject: 'user-2' });
  for (const wrong of [
    'x',
    '..',
    `${user}.${family}`,
    `${token}.`,
    `${token}=`,
    ` ${token}`,
    `${foreign}.${family}.${random}`,
    `${user}.${'A'.repeat(22)}.${random}`,
  ]) {
    const { status, body } = await process.token(refreshOf(wrong));
    assert.deepEqual([status, body.error.param], [400, 'refresh_token'], wrong);
  }
  assert.equal((await process.token(refreshOf(token))).status, 200);
});

test('a family ends after thirty days, and after seven days without use', async (t) => {
  const { shared, process, refresh } = await start(t);
  const idle = await firstToken(process);
  let used = await firstToken(process);
  const began = shared.now;
  shared.now += refreshTokenIdleMsMax;
  assert.equal((await refresh(idle)).status, 400);
  shared.now = began;
  while (shared.now + refreshTokenIdleMsMax / 2 < began + refreshTokenMsMax) {
    shared.now += refreshTokenIdleMsMax / 2;
    const next = await refresh(used);
    assert.equal(next.status, 200);
    used = next.token;
  }
  shared.now = began + refreshTokenMsMax;
  assert.equal((await refresh(used)).status, 400);
});

test('a sign-out revokes the tokens of its session, and one everywhere all tokens and pending codes', async (t) => {
  const { shared, process, refresh } = await start(t);
  const ending = new AccessEnding(shared.engine, () => shared.now);
  const act = { what: 'user.signed_out', on: userKey(ada), by: 'user' } as const;
  const signOut = (of: SessionFilter) => ending.end({ filter: { user: userKey(ada), ...of }, act });
  const grace = { ...ada, subject: 'user-2' };
  const [one, two, hers] = [
    await firstToken(process, { sessionId: 'one' }),
    await firstToken(process, { sessionId: 'two' }),
    await firstToken(process, { identity: grace, sessionId: 'one' }),
  ];
  await signOut({ session: 'one' });
  assert.equal((await refresh(one)).status, 400);
  const next = await refresh(two);
  assert.equal(next.status, 200);
  const underWay = await signIn(process, { sessionId: 'three' });
  await signOut({});
  assert.equal((await refresh(next.token)).status, 400);
  assert.equal((await process.token(underWay.exchange)).status, 400);
  assert.equal((await refresh(hers)).status, 200, 'another user is not signed out');
  assert.equal(
    (await process.token((await signIn(process)).exchange)).status,
    200,
    'the user can sign in again',
  );
});

test('a sweep removes expired records, and no others', async (t) => {
  const { shared, process, refresh } = await start(t);
  const token = await firstToken(process);
  await signIn(process);
  assert.deepEqual(
    [await countOf(shared, 'service:sign-in-codes'), await countOf(shared, 'service:refresh-families')],
    [2, 2],
  );
  await process.grants.sweep();
  await process.grants.sweepCodes();
  assert.deepEqual(
    [await countOf(shared, 'service:sign-in-codes'), await countOf(shared, 'service:refresh-families')],
    [2, 2],
  );
  shared.now += signInCodeMs;
  await process.grants.sweep();
  await process.grants.sweepCodes();
  assert.deepEqual(
    [await countOf(shared, 'service:sign-in-codes'), await countOf(shared, 'service:refresh-families')],
    [0, 1],
  );
  assert.equal((await refresh(token)).status, 200);
  shared.now += refreshTokenIdleMsMax;
  await process.grants.sweep();
  await process.grants.sweepCodes();
  assert.equal(await countOf(shared, 'service:refresh-families'), 0);
});
