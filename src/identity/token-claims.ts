import { createHash } from 'node:crypto';
import type { JWTHeaderParameters, JWTPayload } from 'jose';
import { defined } from '../defined.ts';
import { clockToleranceSeconds, tokenAgeSecondsMax } from './limits.ts';
import { readProfile } from './profile.ts';
import {
  type Client,
  type Logout,
  type ProvenIdentity,
  ProviderFailure,
  subjectPattern,
} from './provider.ts';

/** The checks of an ID token that the libraries leave to the caller; its signature has been verified. */

/** Microsoft tenants are GUIDs, and part of the issuer (Microsoft identity platform, ID token claims). */
const tenant = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const sessionCharactersMax = 255;

/** What an ID token was issued with: its hashes, if it has any, must be of these. */
interface IssuedWith {
  readonly accessToken: string;
  /** The authorization code of the callback. */
  readonly code: string;
}

export function checkIdToken(
  payload: JWTPayload,
  { typ, alg }: JWTHeaderParameters,
  { accessToken, code }: IssuedWith,
): void {
  checkType(typ, ['jwt']);
  checkIssuedAt(payload);
  // OpenID Connect Core 1.0, 3.1.3.6 and 3.3.2.11. Both claims are optional in the code flow.
  checkHash(payload, 'at_hash', accessToken, alg);
  checkHash(payload, 'c_hash', code, alg);
}

/** RFC 8725, 3.11: a token of another kind, such as an access token, is not valid here. */
function checkType(typ: string | undefined, types: readonly string[]): void {
  if (typ !== undefined && !types.includes(typ.toLowerCase())) throw new ProviderFailure('untrusted', 'typ');
}

/** OpenID Connect Core 1.0, 3.1.3.7, 10: a token is neither from the future nor too old, whatever its `exp` says. */
function checkIssuedAt({ iat = 0 }: JWTPayload): void {
  const ageSeconds = Date.now() / 1_000 - iat;
  // An `iat` that is no number meets neither bound.
  if (!(ageSeconds >= -clockToleranceSeconds && ageSeconds <= tokenAgeSecondsMax))
    throw new ProviderFailure('untrusted', 'iat');
}

/** A hash of a token or code: the left half of the digest, with the hash of the signature algorithm. */
function checkHash(
  payload: JWTPayload,
  claim: 'at_hash' | 'c_hash',
  hashed: string,
  algorithm: string,
): void {
  const given = payload[claim];
  if (given === undefined) return;
  const bits = /\d{3}$/.exec(algorithm)?.[0] ?? '512';
  const digest = createHash(`sha${bits}`).update(hashed, 'ascii').digest();
  const half = digest.subarray(0, digest.length / 2).toString('base64url');
  if (given !== half) throw new ProviderFailure('untrusted', claim);
}

/** Makes the checks of OpenID Connect Core 1.0, 3.1.3.7, that the libraries do not make. */
export function provenIdentity(payload: JWTPayload, { clientId }: Client): ProvenIdentity {
  const { iss = '', sub = '', azp, tid, sid } = payload;
  if (azp !== undefined && azp !== clientId) throw new ProviderFailure('untrusted', 'azp');
  if (iss.startsWith('https://login.microsoftonline.com/') && !tenant.test(String(tid))) {
    throw new ProviderFailure('untrusted', 'tid');
  }
  if (!subjectPattern.test(sub)) throw new ProviderFailure('untrusted', 'sub');
  const providerSession = isText(sid) ? storedSessionId(sid) : undefined;
  return { issuer: iss, subject: sub, ...readProfile(payload), ...defined({ providerSession }) };
}

/** The id of a session at the provider as it is stored: a long one as its digest. */
function storedSessionId(sid: string): string {
  if (sid.length <= sessionCharactersMax) return sid;
  return createHash('sha256').update(sid).digest('base64url');
}

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** Checks the claims of a logout token. Its signature, issuer and audience have been verified. */
export function readLogout(payload: JWTPayload, typ: string | undefined): Logout {
  checkType(typ, ['jwt', 'logout+jwt']);
  checkIssuedAt(payload);
  const { iss = '', sub, sid, jti, exp = 0, iat = 0, events } = payload;
  const isLogout = isObject(events) && isObject(events[logoutEvent]) && !('nonce' in payload);
  const isWhole = isText(jti) && isTextOrAbsent(sub) && isTextOrAbsent(sid) && (isText(sub) || isText(sid));
  if (!isLogout || !isWhole) throw new ProviderFailure('untrusted', 'logout_token');
  return {
    issuer: iss,
    ...defined({
      subject: sub,
      providerSession: sid === undefined ? undefined : storedSessionId(sid as string),
    }),
    id: jti,
    expiresAt: (Math.min(exp, iat + tokenAgeSecondsMax) + clockToleranceSeconds) * 1_000,
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || isText(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
