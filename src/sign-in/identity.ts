import { createHash } from 'node:crypto';
import type { ProviderName } from './providers.ts';

/** A user as the provider reports them, identified only by issuer and subject, never by e-mail (OpenID Connect Core 1.0, 5.7). */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  readonly provider: ProviderName;
  readonly integration: string;
  readonly name?: string;
  readonly email?: string;
  readonly emailVerified?: boolean;
  readonly picture?: string;
}

/** At least 128 bits of a digest, so that two users never share a key. */
const userKeyCharacters = 22;

/**
 * The id of a user: the first 22 characters of the base64url SHA-256 of issuer and subject. It never begins with `-`, which
 * a command line takes for an option.
 */
export function userKey({ issuer, subject }: Pick<Identity, 'issuer' | 'subject'>): string {
  // JSON separates the two: ("a", "bc") and ("ab", "c") are different users.
  const digest = createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('base64url');
  return digest.slice(0, userKeyCharacters).replace(/^-/, 'A');
}

/** The user key of a record id, `<user key>.<rest>`. */
export function userKeyOf(recordId: string): string {
  return recordId.slice(0, userKeyCharacters);
}

export function isUserKey(text: string): boolean {
  return /^\w[\w-]{21}$/.test(text);
}
