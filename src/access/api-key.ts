import { hash, timingSafeEqual } from 'node:crypto';
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

/** The id within what may be a key; undefined for what has not its length. All of it is proved by its hash. */
export function idWithin(text: string): string | undefined {
  return text.length === keyCharacters ? text.slice(4, 20) : undefined;
}

/**
 * What is stored of a key. Its secret has 256 random bits: nobody can try them all, however fast the hash, so that a
 * slow one (as for passwords) would protect nothing and cost every request.
 */
export function hashOf(text: string): string {
  return hash('sha256', text, 'base64url');
}

/** The hashes of a key as bytes, ready to be compared with. */
export interface HashedSecrets {
  readonly current: Buffer;
  readonly previous: Buffer;
  /** Milliseconds since 1970. */
  readonly previousUntil: number;
}

/** No text has this hash that anybody could find. */
const unfindable = Buffer.alloc(32);
/** Compared with where there is no key of the id, so that this takes as long as a wrong secret. */
const noSecrets: HashedSecrets = { current: unfindable, previous: unfindable, previousUntil: 0 };

export function hashedSecrets({ hash: current, previous }: ApiKey): HashedSecrets {
  return {
    current: Buffer.from(current, 'base64url'),
    previous: previous === undefined ? unfindable : Buffer.from(previous.hash, 'base64url'),
    previousUntil: previous === undefined ? 0 : Date.parse(previous.until),
  };
}

/** Where the hash of what was sent is compared; a buffer made for each request would cost more than the hash. */
const given = Buffer.alloc(32);

/** Whether a text is the key, in a time that tells neither how much of it is right nor whether there is such a key. */
export function isTheKey(text: string, secrets: HashedSecrets | undefined, now: number): boolean {
  const { current, previous, previousUntil } = secrets ?? noSecrets;
  given.write(hash('sha256', text, 'binary'), 'binary');
  const isCurrent = timingSafeEqual(given, current);
  const isPrevious = timingSafeEqual(given, previous);
  return isCurrent || (isPrevious && now < previousUntil);
}

/** Whether a key has been revoked or has expired. @param now milliseconds since 1970 */
export function hasEnded(
  { revokedAt, expiresAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt'>,
  now: number,
): boolean {
  return revokedAt !== undefined || (expiresAt !== undefined && now >= Date.parse(expiresAt));
}
