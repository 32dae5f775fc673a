import type { ActingAdministrator, Requester } from '../audit/audit.ts';
import { defined } from '../defined.ts';
import { ServiceError } from '../errors.ts';
import type { Administrator } from './console/administrators.ts';
import type { ApiKey, ApiKeyKind } from './keys/api-key.ts';
import type { Scope } from './scopes.ts';

/** What a caller may do. */
export interface Rights extends Pick<ApiKey, 'scopes' | 'tables' | 'routes' | 'origins'> {
  readonly kind: ApiKeyKind | 'administrator';
}

/** The sender of a request. */
export interface Caller {
  /** The id of the API key, or `administrator:` and the id of the user; empty for other callers. */
  readonly id: string;
  /** The rights of the API key or the administrator; undefined for other callers. */
  readonly rights: Rights | undefined;
  /** The name of the API key or the administrator, for people. */
  readonly name?: string;
  /** The scope of the key's idempotency keys, if it is not the key's id. */
  readonly shop?: string;
  readonly administrator?: ActingAdministrator;
  /** The hash of the API key's secret, because the key may have been rotated or revoked since. */
  readonly secretHash?: string;
  /** Whether the request was authorized by the secret of one payment. Then it may read only that payment. */
  readonly isBuyer?: true;
}

/** A caller with an API key, or with the session of an administrator. */
export type KnownCaller = Caller & { readonly rights: Rights };

/** The sender of a request with the secret of a payment. */
export const buyer: Caller = { id: '', rights: undefined, isBuyer: true };

/** A caller of a service without keys, or of a public route. */
export const anybody: Caller = { id: '', rights: undefined };

/** The sender of a request with an API key. */
export function callerWith(key: ApiKey): KnownCaller {
  const { id, name, shop, hash: secretHash } = key;
  return { id, name, ...defined({ shop }), rights: key, secretHash };
}

const administratorPrefix = 'administrator:';

/** The sender of a request with the session of an administrator. */
export function callerAs({ id, scopes, issuer, subject, name }: Administrator): KnownCaller {
  const named = name === undefined ? {} : { name };
  return {
    id: administratorPrefix + id,
    ...named,
    rights: { kind: 'administrator', scopes },
    administrator: { issuer, subject, ...named },
  };
}

/** The user id of a caller that is an administrator; undefined for other callers. */
export function administratorId({ id, administrator }: Caller): string | undefined {
  return administrator === undefined ? undefined : id.slice(administratorPrefix.length);
}

/** The scope of a caller's idempotency keys. It stays the same when another API key replaces the present key. */
export function idempotencyScope({ id, shop }: Caller): string {
  return shop ?? id;
}

/** The caller in the audit trail. */
export function requesterFor({ id, administrator }: Caller, requestId: string): Requester {
  if (administrator !== undefined) return { by: id as `administrator:${string}`, administrator, requestId };
  return { by: id === '' ? 'open' : `key:${id}`, requestId };
}

/** The target of a request. */
export interface Target {
  readonly table: string | undefined;
  /** Whether the response contains only tables that the key may use. */
  readonly filtersTables: boolean;
  /** `processor/route` of a payment. */
  readonly route: string | undefined;
}

/**
 * Throws `forbidden`, with the reason, if the rights do not allow the request. A limit covers its whole domain. So a
 * key that is limited to some tables may not send a request that names no table, unless its response is filtered.
 */
export function checkPermission(rights: Rights, needed: Scope, target: Target): void {
  if (!rights.scopes.includes(needed) && !rights.scopes.includes('admin')) {
    const holder = rights.kind === 'administrator' ? 'administrator' : 'API key';
    throw new ServiceError('forbidden', {
      message: `This ${holder} lacks the scope ${needed}.`,
      missingScope: needed,
    });
  }
  if (needed.startsWith('tables:') && !target.filtersTables)
    checkLimit(rights.tables, target.table, 'TABLE_NAME', 'tables');
  if (needed.startsWith('payments:')) checkLimit(rights.routes, target.route, 'route_id', 'payment routes');
}

function checkLimit(
  limits: readonly string[] | undefined,
  requested: string | undefined,
  param: string,
  what: string,
): void {
  if (limits === undefined || (requested !== undefined && limits.includes(requested))) return;
  throw new ServiceError('forbidden', {
    param,
    message: `This API key is limited to certain ${what}; this is not one of them.`,
  });
}
