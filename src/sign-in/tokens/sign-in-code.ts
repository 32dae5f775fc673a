import { hash, timingSafeEqual } from 'node:crypto';
import { pkceChallenge } from '../../identity/pkce.ts';
import { signInCodeMs } from '../limits.ts';

/** The record of a one-time code in `service:sign-in-codes`, under its hash; the code itself is not stored. */
export interface SignInCode {
  /** The family that the code begins, in `service:refresh-families`. */
  readonly family: string;
  readonly returnUrl: string;
  /** RFC 7636, 4.2. */
  readonly codeChallenge: string;
  /** Milliseconds since 1970. */
  readonly issuedAt: number;
  /** The record stays until the code expires, so that a second use is distinct from an unknown code. */
  readonly isUsed?: true;
}

export const signInCodesSpace = 'service:sign-in-codes';
const challengePattern = /^[A-Za-z0-9_-]{43}$/;
const verifierPattern = /^[A-Za-z0-9._~-]{43,128}$/;

/** 32 random bytes need no salt. */
export function codeId(code: string): string {
  return hash('sha256', code, 'base64url');
}

/** Whether it is an S256 challenge: SHA-256 in base64url. `plain` is not supported. */
export function isChallenge(text: string): boolean {
  return challengePattern.test(text);
}

/** A clock that was set back does not extend the life of a code. */
export function isExpired({ issuedAt }: SignInCode, now: number): boolean {
  return now >= issuedAt + signInCodeMs || now < issuedAt - signInCodeMs;
}

/** Whether the sender of a code began its sign-in (RFC 7636, 4.6), for the same return URL. */
export function isFor(
  { codeChallenge, returnUrl }: SignInCode,
  sent: { readonly codeVerifier: string; readonly returnUrl: string },
): boolean {
  if (!verifierPattern.test(sent.codeVerifier) || sent.returnUrl !== returnUrl) return false;
  const challenge = pkceChallenge(sent.codeVerifier);
  return timingSafeEqual(Buffer.from(challenge), Buffer.from(codeChallenge));
}
