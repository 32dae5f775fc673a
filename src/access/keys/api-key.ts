import type { Actor } from '../../audit/audit.ts';
import { randomBytes } from '../../random.ts';
import type { Scope } from '../scopes.ts';

/** How long the previous secret stays valid after a rotation, by default: a day to deploy the new secret. */
export const apiKeyOverlapMsDefault = 24 * 60 * 60 * 1_000;
/** A longer overlap is not a rotation. */
export const apiKeyOverlapMsMax = 30 * 24 * 60 * 60 * 1_000;

/**
 * `secret`: for servers. `publishable`: for browsers, where everybody can read it. A publishable key only creates payments,
 * and only from its own origins.
 */
export type ApiKeyKind = 'secret' | 'publishable';

/** A key as stored in `service:api-keys` under its id. All fields except the hashes are public. */
export interface ApiKey {
  readonly id: string;
  readonly kind: ApiKeyKind;
  /** A name for the operator. */
  readonly name: string;
  /**
   * The id of the first key in the chain of keys that this key replaces. All keys of the chain share idempotency keys.
   */
  readonly shop?: string;
  readonly scopes: readonly Scope[];
  /** The tables that the key may use; all without it. */
  readonly tables?: readonly string[];
  /** The payment routes that the key may use, each `processor/route`; all without it. */
  readonly routes?: readonly string[];
  /** Only for a publishable key: the origins (RFC 6454) whose pages may use it. */
  readonly origins?: readonly string[];
  readonly hash: string;
  /** The creators (`creatorsBy`), the direct creator last. Absent in older keys. */
  readonly creators?: readonly Actor[];
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly revokedAt?: string;
  /** The secret before the last rotation. It is valid until `until`. */
  readonly previous?: { readonly hash: string; readonly until: string };
}

/** A key and its text. The text cannot be shown again. */
export interface ShownKey {
  readonly key: ApiKey;
  readonly text: string;
}

/** A key as an operator sees it. */
export interface ListedKey extends ApiKey {
  readonly lastUsedAt: string | undefined;
}

/** The requested properties of a new key. */
export type CreateKeyRequest = Pick<
  ApiKey,
  'kind' | 'name' | 'scopes' | 'tables' | 'routes' | 'origins' | 'expiresAt'
>;

/** The only scopes that a publishable key may have, because everybody can read it. */
export const publishableScopes: readonly Scope[] = ['payments:create'];

const prefixes = { secret: 'cfk', publishable: 'cfp' } as const satisfies Record<ApiKeyKind, string>;
const keyCharacters = 'cfk_'.length + 16 + '.'.length + 43;

/** The id of the key's record; it is not secret. */
export function newApiKeyId(): string {
  return randomBytes(8).toString('hex');
}

/** The whole key, `cfk_<id>.<secret>`: shown once, never stored. The secret is 32 random bytes in base64url. */
export function newApiKeyText(kind: ApiKeyKind, id: string): string {
  return `${prefixes[kind]}_${id}.${randomBytes(32).toString('base64url')}`;
}

/** Whether a text has the length of a key. Only its hash proves that it is a key. */
export function mayBeKey(text: string): boolean {
  return text.length === keyCharacters;
}

/**
 * The key for the holder of the secret with this hash. With the previous secret, the key ends with the overlap.
 * Undefined if neither secret has this hash.
 */
export function keyOfSecret(key: ApiKey, hash: string): ApiKey | undefined {
  if (key.hash === hash) return key;
  const { previous, expiresAt, ...rest } = key;
  if (previous?.hash !== hash) return undefined;
  const endsFirst = expiresAt !== undefined && Date.parse(expiresAt) < Date.parse(previous.until);
  return { ...rest, hash, expiresAt: endsFirst ? expiresAt : previous.until };
}

/** Whether a key has been revoked or has expired. @param now milliseconds since 1970 */
export function hasEnded(
  { revokedAt, expiresAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt'>,
  now: number,
): boolean {
  return revokedAt !== undefined || (expiresAt !== undefined && now >= Date.parse(expiresAt));
}

/** `valid` includes a key that will expire. */
export type KeyStatus = 'valid' | 'expired' | 'revoked';

/** @param now milliseconds since 1970 */
export function keyStatus(key: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, now: number): KeyStatus {
  if (key.revokedAt !== undefined) return 'revoked';
  return hasEnded(key, now) ? 'expired' : 'valid';
}

/** The public fields of a key: all except the hashes. @param now milliseconds since 1970 */
export function publicKey(key: ApiKey, now: number) {
  const { previous } = key;
  return {
    id: key.id,
    kind: key.kind,
    name: key.name,
    status: keyStatus(key, now),
    scopes: key.scopes,
    tables: key.tables ?? null,
    routes: key.routes ?? null,
    origins: key.origins ?? null,
    created_by: key.creators?.at(-1) ?? null,
    created_at: key.createdAt,
    expires_at: key.expiresAt ?? null,
    revoked_at: key.revokedAt ?? null,
    previous_until: previous !== undefined && Date.parse(previous.until) > now ? previous.until : null,
  };
}
