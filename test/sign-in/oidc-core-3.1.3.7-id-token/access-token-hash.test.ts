import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { assertRejected, says, signIn, startSignIn } from '../../support/sign-in/signing-in.ts';

/** OpenID Connect Core 1.0, 3.1.3.6: the left half of the digest, with the hash of the signature algorithm. */
function hashOf(accessToken: string, algorithm = 'sha256'): string {
  const digest = createHash(algorithm).update(accessToken).digest();
  return digest.subarray(0, digest.length / 2).toString('base64url');
}

test('accepts an ID token whose at_hash matches the access token', async (t) => {
  for (const [alg, algorithm] of [
    ['ES256', 'sha256'],
    ['ES384', 'sha384'],
    ['EdDSA', 'sha512'],
  ] as const) {
    const signing = await startSignIn(t, { alg });
    signing.provider.twists = {
      claims: (honest) => ({ ...honest, at_hash: hashOf('access', algorithm) }),
    };
    assert.equal((await signIn(signing)).status, 303, alg);
  }
});

test('rejects an ID token whose at_hash does not match the access token', async (t) => {
  const signing = await startSignIn(t);
  for (const hash of [
    hashOf('another'),
    hashOf('access', 'sha512'),
    createHash('sha256').update('access').digest('base64url'),
    hashOf('access').slice(0, -1),
    '',
    7,
    null,
  ]) {
    signing.provider.twists = { claims: (honest) => ({ ...honest, at_hash: hash }) };
    await assertRejected(signing, await signIn(signing), says.untrusted);
  }
});
