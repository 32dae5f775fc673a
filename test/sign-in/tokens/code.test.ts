import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { exchangeRepeatMsMax, signInCodeMs } from '../../../src/sign-in/limits.ts';
import { userKey } from '../../../src/sign-in/types.ts';
import { itemsOf } from '../../../src/storage/item-text.ts';
import { startTestService } from '../../support/service.ts';
import {
  ada,
  openShared,
  refreshOf,
  returnUrl,
  signIn,
  startProcess,
  type TokenProcess,
  type TokenResponse,
} from '../../support/sign-in/token-service.ts';

test('exchanges a code for an access token that any app can verify, and a refresh token', async (t) => {
  const shared = await openShared(t);
  const process = await startProcess(t, shared);
  const { exchange } = await signIn(process);
  const { status, headers, body } = await process.token(exchange);
  assert.equal(status, 200);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.deepEqual(Object.keys(body), ['access_token', 'token_type', 'expires_in', 'refresh_token']);
  assert.deepEqual([body.token_type, body.expires_in], ['Bearer', 600]);

  const keys = createRemoteJWKSet(new URL(`${process.origin}/.well-known/jwks.json`));
  const options = { issuer: process.origin, audience: 'https://app.example.com', typ: 'at+jwt' };
  const { payload, protectedHeader } = await jwtVerify(body.access_token, keys, options);
  const { iat, exp, jti, ...claims } = payload;
  assert.deepEqual(claims, {
    iss: process.origin,
    aud: 'https://app.example.com',
    sub: userKey(ada),
    client_id: 'oidc/web',
    provider: 'oidc',
    integration: 'web',
    name: 'Ada',
    email: 'ada@example.com',
    email_verified: true,
  });
  assert.deepEqual([protectedHeader.alg, (exp ?? 0) - (iat ?? 0)], ['ES256', 600]);
  assert.match(String(jti), /^[0-9a-f-]{36}$/);
});

test('returns the same tokens for the same exchange again, within ten seconds', async (t) => {
  const shared = await openShared(t);
  const process = await startProcess(t, shared);
  const { exchange } = await signIn(process);
  const first = await process.token(exchange);
  assert.deepEqual((await process.token(exchange)).body, first.body);
  shared.now += exchangeRepeatMsMax;
  const late = await process.token(exchange);
  assert.equal(late.status, 200);
  assert.deepEqual(late.body, { ...first.body, expires_in: 590 });
  const refreshed = await process.token(refreshOf(first.body.refresh_token));
  assert.equal(refreshed.status, 200);
});

test('rejects a code that is used again after ten seconds, and revokes its tokens (RFC 6749, 4.1.2)', async (t) => {
  const shared = await openShared(t);
  const process = await startProcess(t, shared);
  for (const laterMs of [exchangeRepeatMsMax + 1, signInCodeMs - 1]) {
    const { exchange } = await signIn(process);
    const first = await process.token(exchange);
    shared.now += laterMs;
    await assertReplayed(process, await process.token(exchange), first);
  }
});

test('rejects a code that another sender uses again, and revokes its tokens (RFC 9700, 2.1.1)', async (t) => {
  const process = await startProcess(t, await openShared(t));
  const { verifier } = await signIn(process);
  for (const [fields, integration] of [
    [{ code_verifier: verifier }],
    [{ code_verifier: 'x' }],
    [{ return_url: 'https://app.example.com/signed-in' }],
    [{}, 'oidc/app'],
  ] as const) {
    const { exchange } = await signIn(process);
    const first = await process.token(exchange);
    await assertReplayed(process, await process.token({ ...exchange, ...fields }, integration), first);
    // The app's own repetition gets nothing either.
    assert.equal((await process.token(exchange)).status, 400);
  }
});

test('all processes return the same tokens for a code that they get at once, and they stay valid', async (t) => {
  const shared = await openShared(t);
  const processes = await Promise.all([1, 2, 3].map(() => startProcess(t, shared)));
  for (let round = 0; round < 10; round++) {
    const { exchange } = await signIn(processes[0] as (typeof processes)[number]);
    const responses = await Promise.all(
      processes.flatMap((each) => [each.token(exchange), each.token(exchange)]),
    );
    assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
    assert.equal(new Set(responses.map(({ text }) => text)).size, 1);
    const token = responses[0]?.body.refresh_token;
    assert.equal((await processes[1]?.token(refreshOf(token)))?.status, 200);
  }
});

test('an exchange that is repeated after a refresh returns the refresh token that is valid now', async (t) => {
  const shared = await openShared(t);
  const process = await startProcess(t, shared);
  const { exchange } = await signIn(process);
  const first = await process.token(exchange);
  const refreshed = await process.token(refreshOf(first.body.refresh_token));
  const again = await process.token(exchange);
  assert.equal(again.body.refresh_token, refreshed.body.refresh_token);
  // Long after, whichever response the page has stored last is good.
  shared.now += 60_000;
  const later = await process.token(refreshOf(again.body.refresh_token));
  assert.equal(later.status, 200);
  shared.now += 60_000;
  assert.equal((await process.token(refreshOf(later.body.refresh_token))).status, 200);
});

test('an exchange is not repeated after a sign-out', async (t) => {
  const process = await startProcess(t, await openShared(t));
  const { exchange } = await signIn(process);
  const first = await process.token(exchange);
  await process.grants.revoke('oidc', 'web', first.body.refresh_token);
  assert.equal((await process.token(exchange)).status, 400);
});

test('the tokens of an exchange are never stored in clear, and are erased after ten seconds', async (t) => {
  const shared = await openShared(t);
  const process = await startProcess(t, shared);
  const { exchange } = await signIn(process);
  const { body } = await process.token(exchange);
  const stored = async () => {
    const texts: string[] = [];
    for await (const { name } of itemsOf((await shared.engine.scan('service:sign-in-codes'))?.chunks ?? []))
      texts.push(name);
    return texts.join();
  };
  assert.match(await stored(), /sealedTokens/);
  const random = body.refresh_token.split('.').at(-1);
  for (const secret of [body.access_token, random, exchange.code, exchange.code_verifier])
    assert.ok(!(await stored()).includes(secret as string));
  await process.grants.sweepCodes();
  assert.match(await stored(), /sealedTokens/);
  shared.now += exchangeRepeatMsMax + 1;
  await process.grants.sweepCodes();
  assert.doesNotMatch(await stored(), /sealedTokens/);
  // A replay is still known as one.
  await assertReplayed(process, await process.token(exchange), { body });
});

async function assertReplayed(
  process: TokenProcess,
  reply: TokenResponse,
  first: Pick<TokenResponse, 'body'>,
): Promise<void> {
  const { code, param } = reply.body.error;
  assert.deepEqual([reply.status, code, param], [400, 'invalid_request', 'code']);
  const refreshed = await process.token(refreshOf(first.body.refresh_token));
  assert.deepEqual([refreshed.status, refreshed.body.error.param], [400, 'refresh_token']);
}

test('returns the same error for everything that is wrong with a code, which stays valid for its app', async (t) => {
  const shared = await openShared(t);
  const process = await startProcess(t, shared);
  const { exchange, verifier } = await signIn(process);
  const other = await signIn(process);
  const wrong: [string, object, string?][] = [
    ['another verifier', { ...exchange, code_verifier: other.verifier }],
    ['a short verifier', { ...exchange, code_verifier: verifier.slice(1) }],
    ['the challenge for the verifier', { ...exchange, code_verifier: `${verifier}=` }],
    ['another return URL', { ...exchange, return_url: 'https://app.example.com/signed-in' }],
    ['a return URL in other letters', { ...exchange, return_url: returnUrl.replace('app', 'APP') }],
    ['another integration', exchange, 'oidc/app'],
    ['another provider', exchange, 'google/web'],
    ['an unknown code', { ...exchange, code: randomBytes(32).toString('base64url') }],
    ['a blank code', { ...exchange, code: ' ' }],
  ];
  const errors = new Set<string>();
  for (const [what, fields, integration] of wrong) {
    const { status, body } = await process.token(fields, integration);
    assert.equal(status, 400, what);
    const { request_id: _, ...error } = body.error;
    errors.add(JSON.stringify(error));
  }
  assert.equal(errors.size, 1, [...errors].join('\n'));
  assert.equal((await process.token(exchange)).status, 200);
});

test('a code is valid for a minute, also when the clock is set back', async (t) => {
  const shared = await openShared(t);
  const process = await startProcess(t, shared);
  const [late, intime] = [await signIn(process), await signIn(process)];
  shared.now += signInCodeMs - 1;
  assert.equal((await process.token(intime.exchange)).status, 200);
  shared.now += 1;
  assert.equal((await process.token(late.exchange)).status, 400);
  shared.now -= 3 * signInCodeMs;
  assert.equal(
    (await process.token(late.exchange)).status,
    400,
    'a clock that is set back does not make it valid again',
  );
});

test('accepts exactly the fields of the grant, and names the wrong one', async (t) => {
  const process = await startProcess(t, await openShared(t));
  const { exchange } = await signIn(process);
  const { code: _, ...withoutCode } = exchange;
  for (const [fields, param] of [
    [{ ...exchange, extra: 'x' }, 'extra'],
    [withoutCode, 'code'],
    [{ ...exchange, refresh_token: 'x' }, 'refresh_token'],
    [{ grant_type: 'refresh_token', refresh_token: 'x', code: 'y' }, 'code'],
    [{ grant_type: 'refresh_token' }, 'refresh_token'],
    [{ grant_type: 'password' }, 'grant_type'],
    [{ ...exchange, code_verifier: 1 }, 'code_verifier'],
  ] as const) {
    const { status, body } = await process.token(fields);
    assert.deepEqual([status, body.error.code, body.error.param], [400, 'invalid_request', param]);
  }
  assert.equal((await process.token(exchange, 'oidc/unknown')).body.error.code, 'integration_not_found');
  assert.equal((await process.token(exchange, 'nobody/web')).body.error.code, 'provider_not_found');
  for (const codeChallenge of ['', 'plain', 'A'.repeat(44), `${'A'.repeat(42)}=`]) {
    const session = { id: 's', identity: ada, createdAt: 0, lastSeenAt: 0 };
    const issue = () => process.grants.newCode(session, { returnUrl, codeChallenge });
    assert.throws(issue, { code: 'invalid_request' });
  }
});

test('serves the key set and the token endpoint under the base path', async (t) => {
  const service = await startTestService(t, { env: { COUNTERFOIL_BASE_PATH: '/api' } });
  const { status, headers, json } = await service.get('/api/.well-known/jwks.json');
  assert.deepEqual([status, headers.get('content-type')], [200, 'application/jwk-set+json']);
  assert.equal(headers.get('cache-control'), 'public, max-age=3600');
  assert.deepEqual(Object.keys(json), ['keys'], 'a JWK Set without an envelope');
  assert.deepEqual(Object.keys(json.keys[0]).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  const credentials = { IDP_CLIENT_ID: 'client-1', IDP_CLIENT_SECRET: 'secret-1' };
  const exchange = { grant_type: 'authorization_code', code: 'a', code_verifier: 'b', return_url: 'c' };
  const unknown = await service.post('/api/v3/auth/google/web/token', exchange);
  assert.equal(unknown.json.body.error.code, 'integration_not_found');
  await service.post('/api/v3/create/service/auth/google/web', credentials);
  const rejected = await service.post('/api/v3/auth/google/web/token', exchange);
  assert.deepEqual([rejected.status, rejected.json.body.error.param], [400, 'code']);
  assert.equal(rejected.headers.get('cache-control'), 'no-store');
});

test('a signing key that cannot be decrypted does not use the code, and only the log names it', async (t) => {
  const shared = await openShared(t);
  const { exchange } = await signIn(await startProcess(t, shared));
  const maker = await startProcess(t, shared);
  await maker.keys.published();
  const space = 'service:signing-keys';
  const id = '0000000001';
  const whole = (await shared.engine.get(space, id)) ?? '';
  const kid = (JSON.parse(whole) as { kid: string }).kid;
  await shared.engine.commit([{ kind: 'replace', space, id, value: whole.replaceAll(kid, `${kid}x`) }]);
  const process = await startProcess(t, shared);
  const { status, text } = await process.token(exchange);
  assert.equal(status, 500);
  assert.doesNotMatch(text, /seal|key/);
  assert.match(process.logged(), /a sealed secret does not open: changed, or moved here/);
  await shared.engine.commit([{ kind: 'replace', space, id, value: whole }]);
  assert.equal((await maker.token(exchange)).status, 200);
});
