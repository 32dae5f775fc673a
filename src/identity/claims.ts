import { profileClaimCharactersMax } from './limits.ts';
import type { ProvenIdentity } from './provider.ts';

/**
 * The standard claims of a user (OpenID Connect Core 1.0, 5.1) that are told on. They are for people's eyes: one that
 * is of no sane shape is left out, and signs nobody out.
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
    // Whoever shows it puts it into a page.
    ...(picture === undefined || !/^https:\/\//.test(picture) ? {} : { picture }),
  };
}

function textOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '' || value.length > profileClaimCharactersMax) return undefined;
  return value.isWellFormed() ? value : undefined;
}
