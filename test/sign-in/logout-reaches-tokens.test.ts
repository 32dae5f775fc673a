import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../support/command.ts';
import { logoutToken, sendLogout } from '../support/identity/logout-token.ts';
import { ScriptedOidc } from '../support/oidc/scripted-oidc.ts';
import { App, signOut } from '../support/sign-in/app.ts';
import { livesOf, startForOperators } from '../support/sign-in/operators.ts';
import { credentials, goToCallback, signIn, whoIs } from '../support/sign-in/signing-in.ts';

const day = 24 * 60 * 60_000;

test('a logout of a session at the provider revokes the tokens of an expired session', async (t) => {
  let now = Date.now();
  const { service, signing, enter } = await startForOperators(t, { now: () => now });
  signing.provider.sid = 'sid-1';
  const person = await enter('user-1');
  let token = person.refreshToken;
  for (let n = 0; n < 2; n++) {
    now += 4 * day;
    const refreshed = await person.app.refresh(service.origin, token);
    assert.equal(refreshed.status, 200);
    token = refreshed.body.refresh_token;
  }
  const claims = { sub: undefined, sid: 'sid-1' };
  assert.equal((await sendLogout(service.origin, await logoutToken(signing.provider, claims))).status, 200);
  assert.equal((await person.app.refresh(service.origin, token)).status, 400);
});

test('a logout of a session revokes its tokens when the user has signed in again in the same browser', async (t) => {
  const { service, signing, enter } = await startForOperators(t);
  signing.provider.sid = 'sid-1';
  const person = await enter('user-1');
  signing.provider.sid = 'sid-2';
  await signIn({ ...signing, browser: person.browser });
  const token = await logoutToken(signing.provider, { sub: 'user-1', sid: 'sid-1' });
  assert.equal((await sendLogout(service.origin, token)).status, 200);
  assert.deepEqual(await livesOf(service.origin, person), [true, false]);
});

for (const [what, atSignIn, atLogout] of [
  ['that was unknown at the sign-in', undefined, 'sid-1'],
  ['with a long id', 'x'.repeat(300), 'x'.repeat(300)],
] as const) {
  test(`a logout of a user and a session ${what} ends their access`, async (t) => {
    const { service, signing, enter } = await startForOperators(t);
    signing.provider.sid = atSignIn;
    const person = await enter('user-1');
    const token = await logoutToken(signing.provider, { sub: 'user-1', sid: atLogout });
    assert.equal((await sendLogout(service.origin, token)).status, 200);
    assert.deepEqual(await livesOf(service.origin, person), [false, false]);
  });
}

test('rejects a logout token with null or empty ids', async (t) => {
  const { service, signing, enter } = await startForOperators(t);
  signing.provider.sid = 'sid-1';
  const person = await enter('user-1');
  for (const claims of [
    { sid: null },
    { sub: null, sid: 'sid-1' },
    { jti: null },
    { jti: '' },
    { sub: '' },
  ]) {
    const reply = await sendLogout(service.origin, await logoutToken(signing.provider, claims));
    assert.equal(reply.status, 400, JSON.stringify(claims));
  }
  assert.deepEqual(await livesOf(service.origin, person), [true, true]);
});

test('returns 400 for a logout token that cannot be verified', async (t) => {
  const { service, signing, enter } = await startForOperators(t);
  const person = await enter('user-1');
  await signing.provider.rotate();
  signing.provider.twists = {
    respond: (path, response) => {
      if (path === '/jwks') response.writeHead(500).end();
      return path === '/jwks';
    },
  };
  const reply = await sendLogout(service.origin, await logoutToken(signing.provider, { sub: 'user-1' }));
  assert.equal(reply.status, 400, reply.text);
  assert.equal((await whoIs(signing, person.browser)).status, 200);
});

test('a revocation by any refresh token ends its family, an unknown one ends nothing, and access tokens cannot be revoked', async (t) => {
  const { service, enter } = await startForOperators(t);
  const { app, refreshToken } = await enter('user-1');
  const second = await app.refresh(service.origin, refreshToken);
  const third = await app.refresh(service.origin, second.body.refresh_token);
  const revoke = async (token: string) => {
    const body = new URLSearchParams({ token });
    return (await fetch(`${service.origin}/v3/auth/oidc/web/revoke`, { method: 'POST', body })).status;
  };
  assert.equal(await revoke(third.body.access_token), 400);
  const [family = '', random = ''] = refreshToken.split(/\.(?=[^.]+$)/);
  for (const unknown of ['unknown', `${'A'.repeat(22)}${family.slice(22)}.${random}`, random])
    assert.equal(await revoke(unknown), 200, unknown);
  const fourth = await app.refresh(service.origin, third.body.refresh_token);
  assert.equal(fourth.status, 200);
  assert.equal(await revoke(refreshToken), 200);
  assert.equal((await app.refresh(service.origin, fourth.body.refresh_token)).status, 400);
});

test('a rejected callback does not change the session of the browser', async (t) => {
  const { service, signing, enter } = await startForOperators(t);
  const { browser } = await enter('user-1');
  const callback = await goToCallback({ ...signing, browser }, new App().link);
  const fields = { ...credentials, IDP_ISSUER: signing.provider.issuer };
  assert.equal((await service.send('PUT', '/v3/service/auth/oidc/web', fields)).status, 200);
  assert.equal((await browser.open(callback)).status, 400);
  assert.equal((await whoIs(signing, browser)).status, 200);
  assert.equal((await service.get('/v3/sessions')).json.body.length, 1);
});

test('Back after a denied sign-in is an error', async (t) => {
  const { signing } = await startForOperators(t);
  await signIn(signing);
  signing.provider.twists = {
    callback: (honest) => {
      honest.delete('code');
      honest.set('error', 'access_denied');
      return honest;
    },
  };
  const callback = await goToCallback(signing);
  assert.equal((await signing.browser.open(callback)).status, 403);
  assert.equal((await signing.browser.open(callback)).status, 400);
});

test('a sign-out returns no URL of a provider that the user did not sign in with', async (t) => {
  const { service, enter } = await startForOperators(t);
  const { browser } = await enter('user-1');
  const other = await ScriptedOidc.start(t);
  other.twists = { discovery: (honest) => ({ ...honest, end_session_endpoint: `${other.issuer}/end` }) };
  const fields = { ...credentials, IDP_ISSUER: other.issuer };
  assert.equal((await service.send('PUT', '/v3/service/auth/oidc/web', fields)).status, 200);
  const { text } = await signOut(service.origin, browser);
  assert.equal(text, '{"statusCode":200,"body":{"message":"Signed out"}}');
});

test('control characters in the name of a user do not reach the terminal', async (t) => {
  const { service, signing } = await startForOperators(t);
  const name = '\u001b]0;owned\u0007\nAAAAAAAAAAAAAAAAAAAAAA  Root\u009b2J';
  signing.provider.twists = { claims: (honest) => ({ ...honest, name }) };
  await signIn(signing);
  for (const [more, lines] of [
    [[], 2],
    [['--json'], 1],
  ] as const) {
    const { output } = await runCommand(['users', 'list', ...more], { COUNTERFOIL_DATA: service.data });
    assert.match(output, /Root/);
    assert.equal(output.match(/\n/g)?.length, lines);
    assert.doesNotMatch(output.replaceAll('\n', ''), /\p{Cc}/u);
  }
  const { status, errors } = await runCommand(['sessions', 'end', '--user', 'user-1'], {
    COUNTERFOIL_DATA: service.data,
  });
  assert.deepEqual([status, errors.includes('--user')], [2, true]);
});
