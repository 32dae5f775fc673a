import { profileClaimCharactersMax } from './limits.ts';
import type { ProvenIdentity } from './provider.ts';

/**
 * The profile claims of a user (OpenID Connect Core 1.0, 5.1). They are only displayed, so malformed claims are dropped and
 * the sign-in continues.
 */
export function profileOf(
  claims: Readonly<Record<string, unknown>>,
): Omit<ProvenIdentity, 'issuer' | 'subject'> {
  const name = textOf(claims.name);
  const email = textOf(claims.email);
  const picture = textOf(claims.picture);
  const isVerified = claims.email_verified;
  return {
    ...(name === undefined ? {} : { name }),
    ...(email === undefined ? {} : { email }),
    ...(email === undefined || typeof isVerified !== 'boolean' ? {} : { emailVerified: isVerified }),
    // Apps put it into a page, so only https is safe.
    ...(picture === undefined || !/^https:\/\//.test(picture) ? {} : { picture }),
  };
}

function textOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '' || value.length > profileClaimCharactersMax) return undefined;
  return value.isWellFormed() ? value : undefined;
}
