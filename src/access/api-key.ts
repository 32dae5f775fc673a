import { hash } from 'node:crypto';
import { randomBytes } from '../random.ts';
import type { Scope } from './scopes.ts';

/**
 * `secret`: for servers. `publishable`: for browsers, where everybody can read it; it creates payments and nothing
 * else, from the origins that it names.
 */
export type ApiKeyKind = 'secret' | 'publishable';

/** A key as it lies in `service:api-keys` under its id; all but the hashes may be shown. */
export interface ApiKey {
  readonly id: string;
  readonly kind: ApiKeyKind;
  /** What the operator knows it by. */
  readonly name: string;
  /** The first of the keys that it took over from: its idempotency keys are that one's. */
  readonly shop?: string;
  readonly scopes: readonly Scope[];
  /** Of tables, only these; all without it. */
  readonly tables?: readonly string[];
  /** Of payment routes, only these, each `processor/route`; all without it. */
  readonly routes?: readonly string[];
  /** Of a publishable key: the origins (RFC 6454) whose pages may use it. */
  readonly origins?: readonly string[];
  readonly hash: string;
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly revokedAt?: string;
  /** The secret before the last rotation, which holds until then. */
  readonly previous?: { readonly hash: string; readonly until: string };
}

const prefixes = { secret: 'cfk', publishable: 'cfp' } as const satisfies Record<ApiKeyKind, string>;
const keyCharacters = 'cfk_'.length + 16 + '.'.length + 43;

/** The id says which record to look at; it is no secret. */
export function newApiKeyId(): string {
  return randomBytes(8).toString('hex');
}

/** The whole key, `cfk_<id>.<secret>`: shown once, never stored. The secret is 32 random bytes in base64url. */
export function newApiKeyText(kind: ApiKeyKind, id: string): string {
  return `${prefixes[kind]}_${id}.${randomBytes(32).toString('base64url')}`;
}

/** Whether a text may be a key: it has the length of one. All else is proved by its hash. */
export function mayBeKey(text: string): boolean {
  return text.length === keyCharacters;
}

/**
 * What is stored of a key. Its secret has 256 random bits: nobody can try them all, however fast the hash, so that a
 * slow one (as for passwords) would protect nothing and cost every request.
 */
export function hashOf(text: string): string {
  return hash('sha256', text, 'base64url');
}

/** Whether a key has been revoked or has expired. @param now milliseconds since 1970 */
export function hasEnded(
  { revokedAt, expiresAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt'>,
  now: number,
): boolean {
  return revokedAt !== undefined || (expiresAt !== undefined && now >= Date.parse(expiresAt));
}
