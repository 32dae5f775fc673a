import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { logoutToken, sendLogout } from '../support/identity/logout-token.ts';
import { returnUrl } from '../support/sign-in/app.ts';
import { livesOf, startForOperators } from '../support/sign-in/operators.ts';
import { assertRejected, assertSignedIn, register, says, signIn } from '../support/sign-in/signing-in.ts';

/** OpenID Connect Back-Channel Logout 1.0. */
test('a logout token of a user ends the sessions and tokens of that integration', async (t) => {
  const { origin, provider, enter } = await start(t);
  const people = [await enter('user-1'), await enter('user-1'), await enter('user-2')];
  const token = await logoutToken(provider, { sub: 'user-1' });
  const reply = await sendLogout(origin, token);
  assert.equal(reply.status, 200, reply.text);
  assert.match(reply.headers.get('cache-control') ?? '', /no-store/);
  const lives = [];
  for (const person of people) lives.push(await livesOf(origin, person));
  assert.deepEqual(lives, [
    [false, false],
    [false, false],
    [true, true],
  ]);
});

test('a logout token of one session at the provider ends only that session', async (t) => {
  const { origin, provider, enter } = await start(t);
  const [one, other] = [await enter('user-1', 'sid-1'), await enter('user-1', 'sid-2')];
  const reply = await sendLogout(origin, await logoutToken(provider, { sub: undefined, sid: 'sid-1' }));
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual(await livesOf(origin, one), [false, false]);
  assert.deepEqual(await livesOf(origin, other), [true, true]);
});

test('a logout token with subject and session ends only that session, if it is of that subject', async (t) => {
  const { origin, provider, enter } = await start(t);
  const [one, other] = [await enter('user-1', 'sid-1'), await enter('user-1', 'sid-2')];
  await sendLogout(origin, await logoutToken(provider, { sub: 'user-2', sid: 'sid-2' }));
  const reply = await sendLogout(origin, await logoutToken(provider, { sub: 'user-1', sid: 'sid-1' }));
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual(await livesOf(origin, one), [false, false]);
  assert.deepEqual(await livesOf(origin, other), [true, true]);
});

test('a logout token ends no session of another provider', async (t) => {
  const first = await start(t);
  const person = await first.enter('user-1');
  const second = await start(t);
  // The same subject at another provider is another user.
  const reply = await sendLogout(first.origin, await logoutToken(second.provider, { sub: 'user-1' }));
  assert.equal(reply.status, 400, reply.text);
  assert.deepEqual(await livesOf(first.origin, person), [true, true]);
});

test('returns 200 for a logout token of a user who is not signed in', async (t) => {
  const { origin, provider } = await start(t);
  for (const claims of [{ sub: 'nobody' }, { sub: undefined, sid: 'none' }]) {
    const reply = await sendLogout(origin, await logoutToken(provider, claims));
    assert.equal(reply.status, 200, reply.text);
  }
});

test('a logout token is valid once', async (t) => {
  const { origin, provider, enter } = await start(t);
  const token = await logoutToken(provider, { sub: 'user-1' });
  assert.equal((await sendLogout(origin, token)).status, 200);
  const person = await enter('user-1');
  assert.equal((await sendLogout(origin, token)).status, 400);
  assert.deepEqual(await livesOf(origin, person), [true, true]);
});

test('accepts a logout token once when it is sent several times concurrently', async (t) => {
  const { origin, provider } = await start(t);
  const token = await logoutToken(provider, { sub: 'user-1' });
  const replies = await Promise.all(Array.from({ length: 8 }, () => sendLogout(origin, token)));
  const statuses = replies.map((reply) => reply.status).sort();
  assert.deepEqual(statuses, [200, ...Array(7).fill(400)]);
});

for (const claims of [{ sub: 'user-1' }, { sub: 'user-1', sid: 'sid-1' }, { sub: undefined, sid: 'sid-1' }]) {
  test(`a logout token that arrives while its user signs in is not lost: ${JSON.stringify(claims)}`, async (t) => {
    const { origin, provider, signing } = await start(t);
    provider.sid = 'sid-1';
    provider.twists = {
      idToken: async (honest) => {
        assert.equal((await sendLogout(origin, await logoutToken(provider, claims))).status, 200);
        return provider.sign(honest);
      },
    };
    await assertRejected(signing, await signIn(signing), says.ended);
    provider.twists = {};
    await signIn(signing);
    await assertSignedIn(signing, 'user-1');
  });
}

test('a logout token for several clients is valid once for each', async (t) => {
  const { origin, provider, service, enter } = await start(t);
  const fields = { IDP_CLIENT_ID: 'client-2', return_urls: [returnUrl] };
  await register(service, provider, 'second', fields);
  const people = [await enter('user-1'), await enter('user-1', 'oidc/second')] as const;
  const token = await logoutToken(provider, { sub: 'user-1', aud: ['client-0', 'client-1', 'client-2'] });
  assert.equal((await sendLogout(origin, token)).status, 200);
  assert.deepEqual(await livesOf(origin, people[0]), [false, false]);
  assert.deepEqual(await livesOf(origin, people[1]), [true, true]);
  assert.equal((await sendLogout(origin, token)).status, 400);
  assert.equal((await sendLogout(origin, token, 'oidc/second')).status, 200);
  assert.deepEqual(await livesOf(origin, people[1]), [false, false]);
  const foreign = await logoutToken(provider, { sub: 'user-1', aud: ['client-0', 'client-2'] });
  assert.equal((await sendLogout(origin, foreign)).status, 400);
});

for (const claims of [{ sub: 'user-1' }, { sub: undefined, sid: 'sid-1' }]) {
  test(`a logout token ends the sign-ins by all integrations of its client: ${JSON.stringify(claims)}`, async (t) => {
    const { origin, provider, service, enterBy } = await start(t);
    // The provider knows one client, and sends one token. Another client is not meant.
    await register(service, provider, 'second', { IDP_CLIENT_ID: 'client-2', return_urls: [returnUrl] });
    provider.sid = 'sid-1';
    const web = await enterBy('user-1');
    const shop = await enterBy('user-1', 'oidc/shop');
    const second = await enterBy('user-1', 'oidc/second');
    assert.equal((await sendLogout(origin, await logoutToken(provider, claims))).status, 200);
    assert.deepEqual(await livesOf(origin, web), [false, false]);
    assert.deepEqual(await livesOf(origin, shop), [false, false]);
    assert.deepEqual(await livesOf(origin, second), [true, true]);
  });
}

async function start(t: TestContext) {
  const { service, signing, enter } = await startForOperators(t);
  const { provider } = signing;
  const enterWithSession = (subject: string, place = 'oidc/web') => {
    const isSession = place.startsWith('sid-');
    provider.sid = isSession ? place : undefined;
    return enter(subject, isSession ? 'oidc/web' : place);
  };
  return { origin: service.origin, provider, service, signing, enter: enterWithSession, enterBy: enter };
}
