import { createHash } from 'node:crypto';
import type { JWTHeaderParameters, JWTPayload } from 'jose';
import { profileOf } from './claims.ts';
import { clockToleranceSeconds } from './limits.ts';
import { type Client, type ProvenIdentity, ProviderFailure } from './provider.ts';

/** The checks of an ID token that the libraries leave to the caller; its signature has been verified. */

/** Microsoft tenants are GUIDs, and part of the issuer (Microsoft identity platform, ID token claims). */
const tenant = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** OpenID Connect Core 1.0, 2: at most 255 ASCII characters. */
const subjectPattern = /^[\x20-\x7e]{1,255}$/;
const sessionCharactersMax = 255;

export function checkIdToken(
  payload: JWTPayload,
  { typ, alg }: JWTHeaderParameters,
  accessToken: string,
): void {
  checkType(typ, ['jwt']);
  checkIssuedAt(payload);
  checkAccessTokenHash(payload.at_hash, accessToken, alg);
}

/** RFC 8725, 3.11: a token of another kind, such as an access token, is not valid here. */
export function checkType(typ: string | undefined, types: readonly string[]): void {
  if (typ !== undefined && !types.includes(typ.toLowerCase())) throw new ProviderFailure('untrusted', 'typ');
}

export function checkIssuedAt({ iat = 0 }: JWTPayload): void {
  if (iat > Date.now() / 1_000 + clockToleranceSeconds) throw new ProviderFailure('untrusted', 'iat');
}

/** OpenID Connect Core 1.0, 3.1.3.6: the left half of the digest, with the hash of the signature algorithm. */
function checkAccessTokenHash(given: unknown, accessToken: string, algorithm: string): void {
  if (given === undefined) return;
  const bits = /\d{3}$/.exec(algorithm)?.[0] ?? '512';
  const digest = createHash(`sha${bits}`).update(accessToken, 'ascii').digest();
  const half = digest.subarray(0, digest.length / 2).toString('base64url');
  if (given !== half) throw new ProviderFailure('untrusted', 'at_hash');
}

/** Makes the checks of OpenID Connect Core 1.0, 3.1.3.7, that the libraries do not make. */
export function identityOf(payload: JWTPayload, { clientId }: Client): ProvenIdentity {
  const { iss = '', sub = '', azp, tid, sid } = payload;
  if (azp !== undefined && azp !== clientId) throw new ProviderFailure('untrusted', 'azp');
  if (iss.startsWith('https://login.microsoftonline.com/') && !tenant.test(String(tid))) {
    throw new ProviderFailure('untrusted', 'tid');
  }
  if (!subjectPattern.test(sub)) throw new ProviderFailure('untrusted', 'sub');
  const isSession = typeof sid === 'string' && sid !== '';
  return {
    issuer: iss,
    subject: sub,
    ...profileOf(payload),
    ...(isSession ? { providerSession: providerSessionOf(sid) } : {}),
  };
}

/** The id of a session at the provider as it is stored: a long one as its digest. */
export function providerSessionOf(sid: string): string {
  if (sid.length <= sessionCharactersMax) return sid;
  return createHash('sha256').update(sid).digest('base64url');
}
