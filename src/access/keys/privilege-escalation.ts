import type { Actor } from '../../audit/audit.ts';
import type { Scope } from '../scopes.ts';
import type { ApiKey } from './api-key.ts';

/** What a key may do. */
export type Rights = Pick<ApiKey, 'scopes' | 'tables' | 'routes'>;
/** What a key may do, and until when. */
export type Term = Rights & Pick<ApiKey, 'expiresAt'>;

/** A part of a key, by its name in the HTTP interface. */
export type KeyPart = 'scopes' | 'tables' | 'routes' | 'expires_at';

/**
 * The first part in which a key would exceed its holder; undefined if it has no further rights and does not end later.
 */
export function firstEscalation(holder: Term, other: Term): KeyPart | undefined {
  return (
    firstEscalationOfRights(holder, other) ?? (keyEnd(other) <= keyEnd(holder) ? undefined : 'expires_at')
  );
}

/** Like `firstEscalation`, but ignores when the keys end. */
export function firstEscalationOfRights(
  holder: Rights,
  other: Rights,
): Exclude<KeyPart, 'expires_at'> | undefined {
  if (holder.scopes.includes('admin')) return undefined;
  if (!other.scopes.every((scope) => holder.scopes.includes(scope))) return 'scopes';
  if (exceeds(holder.tables, other.tables, other.scopes, 'tables:')) return 'tables';
  return exceeds(holder.routes, other.routes, other.scopes, 'payments:') ? 'routes' : undefined;
}

/** A limit has an effect only if the key has a scope of the limit's domain. */
function exceeds(
  held: readonly string[] | undefined,
  asked: readonly string[] | undefined,
  scopes: readonly Scope[],
  domain: string,
): boolean {
  if (held === undefined || !scopes.some((scope) => scope.startsWith(domain))) return false;
  return asked === undefined || !asked.every((each) => held.includes(each));
}

/** Milliseconds since 1970; infinite for a key that does not expire. */
function keyEnd({ expiresAt }: Pick<ApiKey, 'expiresAt'>): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
}

/** Recorded creators of a key. A longer chain occurs only if each key makes its own successor. */
export const apiKeyCreatorsMax = 16;

/**
 * The creators of a key that `by` makes: who made the key, who made the key that made it, and so on, the earliest
 * first. If the chain is longer than `apiKeyCreatorsMax`, its middle is left out, because the beginning names the
 * holder, and the end the creator.
 */
export function creatorsBy(by: Actor, keys: readonly ApiKey[]): readonly Actor[] {
  const parent = keys.find(({ id }) => by === `key:${id}`);
  const chain = [...(parent?.creators ?? []), by];
  return chain.length <= apiKeyCreatorsMax
    ? chain
    : [...chain.slice(0, 2), ...chain.slice(2 - apiKeyCreatorsMax)];
}

/**
 * The holder in whose share a key counts: the first key or administrator of its chain, so that keys that make keys get
 * no further shares. Undefined for a key that the command line made, because the operator has no share.
 */
export function firstHolder({ creators = [] }: Pick<ApiKey, 'creators'>): Actor | undefined {
  return creators.find((each) => each.startsWith('key:') || each.startsWith('administrator:'));
}

/**
 * Whether a key was created by somebody, also through other keys.
 *
 * @param creator `key:ID`, `administrator:ID` or `cli`, as in `created_by`, or the id alone
 */
export function wasCreatedBy({ creators = [] }: Pick<ApiKey, 'creators'>, creator: string): boolean {
  return creators.some((each) => each === creator || each.endsWith(`:${creator}`));
}
