import { hash } from 'node:crypto';
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

/** Stands for a user in keys of the store: base64url of SHA-256 over JSON.stringify([issuer, subject]), first 22 characters. */
export function userKey({ issuer, subject }: Pick<Identity, 'issuer' | 'subject'>): string {
  return hash('sha256', JSON.stringify([issuer, subject]), 'base64url').slice(0, 22);
}
