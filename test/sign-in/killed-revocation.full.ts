import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServeProcess } from '../support/serve-process.ts';
import { env, killAtEachCommit, skip } from '../support/sign-in/kill-drill.ts';
import { prepareSignedIn, type SignedIn, whatLives } from '../support/sign-in/signed-in.ts';
import { tryToSend } from '../support/try-to-send.ts';

/** RFC 7009, 2.1: a form-encoded request to the revocation endpoint. */
function revoke(origin: string, refreshToken: string) {
  return tryToSend(`${origin}/v3/auth/oidc/web/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ token: refreshToken, token_type_hint: 'refresh_token' }),
  });
}

test('a killed revocation is complete after a retry', { skip }, async (t) => {
  const { data, app, browsers } = await prepareSignedIn(t, 2);
  const [own, other] = browsers as [SignedIn, SignedIn];
  await killAtEachCommit(t, {
    data,
    act: async (origin) => {
      const reply = await revoke(origin, own.refreshToken);
      if (reply !== undefined) assert.equal(reply.status, 200, reply.text);
      return reply;
    },
    check: async (origin, step) => {
      // RFC 7009, 2.2: 200 also for a token that is already revoked.
      assert.equal((await revoke(origin, own.refreshToken))?.status, 200, step);
      // The revocation ends the app's access, and the user stays signed in to the service.
      assert.deepEqual(await whatLives(origin, app, [own]), ['session 0'], step);
      assert.deepEqual(await whatLives(origin, app, [other]), ['session 0', 'refresh token 0'], step);
    },
  });
});

test('returns 200 for the revocation of an unknown token, and ends nothing', async (t) => {
  const { data, app, browsers } = await prepareSignedIn(t, 1);
  const service = await ServeProcess.start(t, { data, env });
  const origin = await service.ready();
  const [family = '', random = ''] = (browsers[0] as SignedIn).refreshToken.split(/\.(?=[^.]+$)/);
  for (const foreign of ['unknown', `${'A'.repeat(22)}${family.slice(22)}.${random}`, random]) {
    assert.equal((await revoke(origin, foreign))?.status, 200, foreign);
  }
  assert.deepEqual(await whatLives(origin, app, browsers), ['session 0', 'refresh token 0']);
});
