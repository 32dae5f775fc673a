import { hash, timingSafeEqual } from 'node:crypto';
import { signInCodeMs } from '../limits.ts';

/** A one-time code as it lies in `service:sign-in-codes` under its hash; the code itself is nowhere. */
export interface SignInCode {
  /** The family that the code begins, in `service:refresh-families`. */
  readonly family: string;
  readonly returnUrl: string;
  /** RFC 7636, 4.2. */
  readonly codeChallenge: string;
  /** Milliseconds since 1970. */
  readonly issuedAt: number;
  /** Kept until the code would have expired, so that a second use is told from a code that never was. */
  readonly isUsed?: true;
}

export const signInCodesSpace = 'service:sign-in-codes';
const challengePattern = /^[A-Za-z0-9_-]{43}$/;
const verifierPattern = /^[A-Za-z0-9._~-]{43,128}$/;

/** 32 bytes are told without their hash by nobody, so that it needs no salt. */
export function codeId(code: string): string {
  return hash('sha256', code, 'base64url');
}

/** Whether it is a challenge by S256: SHA-256 in base64url. `plain` is not taken. */
export function isChallenge(text: string): boolean {
  return challengePattern.test(text);
}

/** A clock that was put back makes no code good for longer. */
export function isExpired({ issuedAt }: SignInCode, now: number): boolean {
  return now >= issuedAt + signInCodeMs || now < issuedAt - signInCodeMs;
}

/** Whether the one who sends a code began its sign-in (RFC 7636, 4.6), for the same return URL. */
export function isFor(
  { codeChallenge, returnUrl }: SignInCode,
  sent: { readonly codeVerifier: string; readonly returnUrl: string },
): boolean {
  if (!verifierPattern.test(sent.codeVerifier) || sent.returnUrl !== returnUrl) return false;
  const challenge = hash('sha256', sent.codeVerifier, 'base64url');
  return timingSafeEqual(Buffer.from(challenge), Buffer.from(codeChallenge));
}
