import { createHash } from 'node:crypto';
import type { ProviderName } from './providers.ts';

/** Who signed in, as the provider told it. Known by issuer and subject alone, never by e-mail (OpenID Connect Core 1.0, 5.7). */
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

/** 128 bits of a digest: nobody finds two users of one key. */
const userKeyCharacters = 22;

/** Stands for a user in keys of the store: base64url of SHA-256 over issuer and subject, 22 characters of it. */
export function userKey({ issuer, subject }: Pick<Identity, 'issuer' | 'subject'>): string {
  // JSON keeps the two apart: ("a", "bc") and ("ab", "c") are different users.
  const digest = createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('base64url');
  return digest.slice(0, userKeyCharacters);
}

/** Of a record that lies under `<user key>.<what tells it from others of the user>`. */
export function userKeyOf(recordId: string): string {
  return recordId.slice(0, userKeyCharacters);
}

export function isUserKey(text: string): boolean {
  return /^[A-Za-z0-9_-]{22}$/.test(text);
}
