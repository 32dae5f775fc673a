import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAbsent, filesIn } from '../../support/canaries.ts';
import { openShared, refreshOf, signIn, startProcess } from '../../support/sign-in/token-service.ts';

test('no response, log or file has an unencrypted code, verifier, token or private key', async (t) => {
  const shared = await openShared(t);
  const process = await startProcess(t, shared);
  const [used, unused, wrong] = [await signIn(process), await signIn(process), await signIn(process)];
  const first = (await process.token(used.exchange)).body;
  const second = (await process.token(refreshOf(first.refresh_token))).body;
  const third = (await process.token(refreshOf(second.refresh_token))).body;
  const rejections = [
    await process.token({ ...wrong.exchange, code_verifier: unused.verifier }),
    await process.token({ ...wrong.exchange, extra: wrong.code }),
    await process.token({ ...refreshOf(third.refresh_token), code: unused.code }),
    await process.token(refreshOf(third.refresh_token), 'oidc/app'),
    await process.token(refreshOf(first.refresh_token)),
    await process.token(used.exchange),
  ];
  assert.ok(rejections.every(({ status }) => status === 400));
  const stored = JSON.parse((await shared.engine.get('service:signing-keys', '0000000001')) ?? '');
  const place = { record: 'signing-key', name: stored.kid, field: 'private_key' };
  const { d: privateKey } = JSON.parse(shared.sealer.open(stored.sealedPrivateKey, place));
  const tokens = [first, second, third].flatMap(({ access_token, refresh_token }) => [
    access_token.split('.')[2],
    refresh_token.split('.')[2],
  ]);
  const codes = [used, unused, wrong].flatMap(({ code, verifier }) => [code, verifier]);
  const files = filesIn(shared.data);
  assert.ok(files['store.mdb']?.includes('sealedPrivateKey') && files['store.mdb'].includes('Ada'));
  assertAbsent([...tokens, ...codes, privateKey], {
    ...files,
    rejections: Buffer.from(rejections.map(({ text }) => text).join('\n')),
    log: Buffer.from(process.logged()),
  });
});
