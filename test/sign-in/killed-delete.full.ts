import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendJson } from '../support/sign-in/app.ts';
import { killAtEachCommit, skip } from '../support/sign-in/kill-drill.ts';
import { prepareSignedIn, registerPath, whatLives } from '../support/sign-in/signed-in.ts';
import { tryToSend } from '../support/try-to-send.ts';

const path = '/v3/service/auth/oidc/web';

test('a killed delete of an integration either has not happened or has ended all access', {
  skip,
}, async (t) => {
  const { data, app, fields, browsers } = await prepareSignedIn(t, 2);
  const remove = (origin: string) => tryToSend(origin + path, { method: 'DELETE' });
  await killAtEachCommit(t, {
    data,
    act: remove,
    check: async (origin, step) => {
      const isThere = (await tryToSend(origin + path))?.status === 200;
      const retry = await remove(origin);
      assert.equal(retry?.status, isThere ? 200 : 404, step);
      // The refresh tokens can be tested only after the name is registered again.
      assert.equal((await sendJson(origin + registerPath, 'POST', fields)).status, 200);
      assert.deepEqual(await whatLives(origin, app, browsers), [], step);
    },
  });
});

test('users stay signed in while a killed delete has not removed the integration', { skip }, async (t) => {
  const { data, app, browsers } = await prepareSignedIn(t, 1);
  await killAtEachCommit(t, {
    data,
    act: (origin) => tryToSend(origin + path, { method: 'DELETE' }),
    check: async (origin, step) => {
      if ((await tryToSend(origin + path))?.status !== 200) return;
      const living = await whatLives(origin, app, browsers);
      assert.deepEqual(living, ['session 0', 'refresh token 0'], step);
    },
  });
});
