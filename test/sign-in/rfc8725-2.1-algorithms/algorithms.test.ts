import assert from 'node:assert/strict';
import { createHmac, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { type JWTPayload, UnsecuredJWT } from 'jose';
import type { ScriptedOidc } from '../../support/oidc/scripted-oidc.ts';
import { Browser } from '../../support/sign-in/browser.ts';
import { assertRejected, credentials, says, signIn, startSignIn } from '../../support/sign-in/signing-in.ts';

type Forge = (claims: JWTPayload, provider: ScriptedOidc) => Promise<string> | string;

const text = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function hmac(claims: JWTPayload, header: object, secret: string | KeyObject, digest = 'sha256'): string {
  const signed = `${text(header)}.${text(claims)}`;
  return `${signed}.${createHmac(digest, secret).update(signed).digest('base64url')}`;
}

/** ID tokens whose signatures are invalid. */
const forgeries: Readonly<Record<string, Forge>> = {
  'with alg none': (claims) => new UnsecuredJWT(claims).encode(),
  'with alg nOnE': (claims) => `${text({ alg: 'nOnE' })}.${text(claims)}.`,
  'with no alg': (claims) => `${text({ typ: 'JWT' })}.${text(claims)}.`,
  'by the public key as an HMAC secret': async (claims, provider) =>
    hmac(claims, { alg: 'HS256', kid: provider.key.kid }, await provider.publicPem()),
  'by the public key as an HMAC secret, HS512': async (claims, provider) =>
    hmac(claims, { alg: 'HS512', kid: provider.key.kid }, await provider.publicPem(), 'sha512'),
  'by the client secret': (claims) => hmac(claims, { alg: 'HS256' }, credentials.IDP_CLIENT_SECRET),
  'by an empty secret': (claims, provider) => hmac(claims, { alg: 'HS256', kid: provider.key.kid }, ''),
  'not at all': async (claims, provider) => (await provider.sign(claims)).replace(/[^.]+$/, ''),
  'with a bit flipped': async (claims, provider) => {
    const token = await provider.sign(claims);
    const place = token.lastIndexOf('.') + 5;
    return token.slice(0, place) + (token[place] === 'A' ? 'B' : 'A') + token.slice(place + 1);
  },
  'for other claims': async (claims, provider) => {
    const [header, , signature] = (await provider.sign(claims)).split('.');
    return `${header}.${text({ ...claims, sub: 'admin' })}.${signature}`;
  },
  'by a key in the header of the token': async (claims, provider) => {
    const other = await provider.newKey();
    return provider.sign(claims, { kid: provider.key.kid, jwk: other.jwk }, other);
  },
  'by a key at a URL in the header of the token': async (claims, provider) => {
    const other = await provider.newKey();
    return provider.sign(claims, { kid: other.kid, jku: 'https://attacker.example/jwks' }, other);
  },
  'by another key under a known id': async (claims, provider) => {
    const other = await provider.newKey();
    return provider.sign(claims, { kid: provider.key.kid }, other);
  },
  'with an extension that must be understood': (claims, provider) =>
    provider.sign(claims, { crit: ['extension'], extension: 1 }),
};

for (const alg of ['ES256', 'RS256']) {
  test(`rejects an ID token of a provider with ${alg} that is signed`, async (t) => {
    const signing = await startSignIn(t, { alg });
    const { provider } = signing;
    for (const [name, forge] of Object.entries(forgeries)) {
      await t.test(name, async () => {
        const test = { ...signing, browser: new Browser() };
        provider.twists = { idToken: (claims) => forge(claims, provider) };
        await assertRejected(test, await signIn(test), says.untrusted);
        provider.twists = {};
        assert.equal((await signIn(test)).status, 303);
      });
    }
  });
}

test('rejects a symmetric signature and alg none, even if the provider announces them', async (t) => {
  for (const alg of ['none', 'HS256', 'HS512']) {
    const signing = await startSignIn(t);
    const { provider } = signing;
    provider.twists = {
      discovery: (honest) => ({ ...honest, id_token_signing_alg_values_supported: ['ES256', alg] }),
      idToken: (claims) =>
        alg === 'none'
          ? new UnsecuredJWT(claims).encode()
          : hmac(claims, { alg }, credentials.IDP_CLIENT_SECRET, alg.replace('HS', 'sha')),
    };
    await assertRejected(signing, await signIn(signing), says.untrusted);
  }
});

test('does not begin a sign-in when the provider supports no asymmetric algorithm', async (t) => {
  const signing = await startSignIn(t);
  signing.provider.twists = {
    discovery: (honest) => ({ ...honest, id_token_signing_alg_values_supported: ['none', 'HS256'] }),
  };
  const page = await signing.browser.open(`${signing.service.origin}/v3/auth/oidc/web/sign-in`);
  await assertRejected(signing, page, says.untrusted);
});

test('ignores an HMAC key in the key set of the provider', async (t) => {
  const signing = await startSignIn(t);
  const secret = 'x'.repeat(32);
  signing.provider.twists = {
    discovery: (honest) => ({ ...honest, id_token_signing_alg_values_supported: ['ES256', 'HS256'] }),
    jwks: () => ({
      keys: [{ kty: 'oct', kid: 'o', alg: 'HS256', k: Buffer.from(secret).toString('base64url') }],
    }),
    idToken: (claims) => hmac(claims, { alg: 'HS256', kid: 'o' }, secret),
  };
  await assertRejected(signing, await signIn(signing), says.untrusted);
});
