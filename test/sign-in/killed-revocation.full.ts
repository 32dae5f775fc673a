import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServeProcess } from '../support/serve-process.ts';
import { env, killAtEachCommit, skip } from '../support/sign-in/kill-drill.ts';
import { prepareSignedIn, type SignedIn, whatLives } from '../support/sign-in/signed-in.ts';
import { tryToSend } from '../support/try-to-send.ts';

/** RFC 7009, 2.1: form-encoded, at an address beside the token endpoint. */
function revoke(origin: string, refreshToken: string) {
  return tryToSend(`${origin}/v3/auth/oidc/web/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ token: refreshToken, token_type_hint: 'refresh_token' }),
  });
}

test('a revocation that is killed is complete after it was sent again', { skip }, async (t) => {
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
      // RFC 7009, 2.2: 200 also for a token that has ended already.
      assert.equal((await revoke(origin, own.refreshToken))?.status, 200, step);
      // A revoked token ends the app's access; its person stays signed in here.
      assert.deepEqual(await whatLives(origin, app, [own]), ['session 0'], step);
      assert.deepEqual(await whatLives(origin, app, [other]), ['session 0', 'refresh token 0'], step);
    },
  });
});

test('a token that this service never issued is revoked without a word, and ends nothing', async (t) => {
  const { data, app, browsers } = await prepareSignedIn(t, 1);
  const service = await ServeProcess.start(t, { data, env });
  const origin = await service.ready();
  const [family = '', random = ''] = (browsers[0] as SignedIn).refreshToken.split(/\.(?=[^.]+$)/);
  for (const foreign of ['unknown', `${'A'.repeat(22)}${family.slice(22)}.${random}`, random]) {
    assert.equal((await revoke(origin, foreign))?.status, 200, foreign);
  }
  assert.deepEqual(await whatLives(origin, app, browsers), ['session 0', 'refresh token 0']);
});
