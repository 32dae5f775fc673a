import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRejected, goToCallback, says, signIn, startSignIn } from '../../support/sign-in/signing-in.ts';

test('rejects a code that was used before, a forged one and a missing one', async (t) => {
  const signing = await startSignIn(t);
  const first = await goToCallback(signing);
  const used = new URL(first).searchParams.get('code') ?? '';
  assert.equal((await signing.browser.open(first)).status, 303);
  await signing.browser.open(`${signing.service.origin}/v3/auth/sign-out`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  });
  for (const [code, expected] of [
    [used, says.rejected],
    ['invalid_signature', says.rejected],
    ['', says.untrusted],
    [undefined, says.untrusted],
    ['x'.repeat(7_000), says.rejected],
    ['a b&c=d%00', says.rejected],
  ] as const) {
    const callback = new URL(await goToCallback(signing));
    if (code === undefined) callback.searchParams.delete('code');
    else callback.searchParams.set('code', code);
    await assertRejected(signing, await signing.browser.open(callback.href), expected);
  }
  assert.equal((await signIn(signing)).status, 303);
});

test('logs the error code of a failed exchange, and neither shows nor logs its description', async (t) => {
  const signing = await startSignIn(t);
  signing.provider.twists = {
    respond: (path, response) => {
      if (path !== '/token') return false;
      const body = { error: 'invalid_client', error_description: 'canary-4711 is no secret of client-1' };
      response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      return true;
    },
  };
  const page = await signIn(signing);
  await assertRejected(signing, page, says.rejected);
  assert.ok(!page.text.includes('canary-4711'));
  assert.ok(!signing.service.logged().includes('canary-4711'));
  assert.match(signing.service.logged(), /rejected: invalid_client/);
});
