import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { assertRejected, goToCallback, says, startSignIn } from '../../support/sign-in/signing-in.ts';

/** OpenID Connect Core 1.0, 3.3.2.11: the left half of the digest, with the hash of the signature algorithm. */
function hashOf(code: string, algorithm = 'sha256'): string {
  const digest = createHash(algorithm).update(code).digest();
  return digest.subarray(0, digest.length / 2).toString('base64url');
}

test('accepts an ID token whose c_hash matches the authorization code', async (t) => {
  for (const [alg, algorithm] of [
    ['ES256', 'sha256'],
    ['ES384', 'sha384'],
    ['EdDSA', 'sha512'],
  ] as const) {
    const signing = await startSignIn(t, { alg });
    const callback = await goToCallback(signing);
    const code = new URL(callback).searchParams.get('code') ?? '';
    signing.provider.twists = { claims: (honest) => ({ ...honest, c_hash: hashOf(code, algorithm) }) };
    assert.equal((await signing.browser.open(callback)).status, 303, alg);
  }
});

test('rejects an ID token whose c_hash does not match the authorization code', async (t) => {
  const signing = await startSignIn(t);
  for (const lie of [
    () => hashOf('another'),
    (code: string) => hashOf(code, 'sha512'),
    (code: string) => hashOf(code).slice(0, -1),
    () => hashOf('access'),
    () => '',
    () => 7,
    () => null,
  ]) {
    const callback = await goToCallback(signing);
    const code = new URL(callback).searchParams.get('code') ?? '';
    signing.provider.twists = { claims: (honest) => ({ ...honest, c_hash: lie(code) }) };
    await assertRejected(signing, await signing.browser.open(callback), says.untrusted);
  }
});
