import { ServiceError } from '../errors.ts';
import type { ApiKey } from './api-key.ts';
import type { Actor } from './audit.ts';
import type { Scope } from './scopes.ts';

/** The sender of a request. */
export interface Caller {
  /** The id of the API key; empty without a key. */
  readonly id: string;
  readonly key: ApiKey | undefined;
  /** Whether the secret of one payment admitted the request, which then reads that payment only. */
  readonly isBuyer?: true;
}

/** The sender of a request with the secret of a payment. */
export const buyer: Caller = { id: '', key: undefined, isBuyer: true };

/** A caller of a service without keys, or of a public route. */
export const anybody: Caller = { id: '', key: undefined };

/** The scope of a caller's idempotency keys. It stays the same when another API key replaces the present one. */
export function shopOf({ id, key }: Caller): string {
  return key?.shop ?? id;
}

/** The name of a caller in the audit trail. */
export function actorOf({ id }: Caller): Actor {
  return id === '' ? 'open' : `key:${id}`;
}

/** The target of a request, from its path and headers. */
export interface Target {
  readonly table: string | undefined;
  /** Whether the response has only those of the tables that the key is limited to. */
  readonly filtersTables: boolean;
  /** `processor/route` of a payment. */
  readonly route: string | undefined;
  /** The origins that the page of the request may have; empty if it is of no page. */
  readonly origins: readonly string[];
}

/**
 * Throws `forbidden`, with the reason, if the key does not allow the request. A limit covers its whole domain: a key that is
 * limited to some tables may not send a request that names no table, unless its response is filtered by them.
 */
export function checkPermission(key: ApiKey, needed: Scope, target: Target): void {
  if (!key.scopes.includes(needed) && !key.scopes.includes('admin')) {
    throw new ServiceError('forbidden', {
      message: `This API key lacks the scope ${needed}.`,
      // RFC 6750, 3.1
      headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${needed}"` },
    });
  }
  if (needed.startsWith('tables:') && !target.filtersTables)
    checkLimit(key.tables, target.table, 'TABLE_NAME', 'tables');
  if (needed.startsWith('payments:')) checkLimit(key.routes, target.route, 'route_id', 'payment routes');
  if (key.kind === 'publishable') checkOrigin(key, target);
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

/** Browsers send the true origin of a page. Other clients could send any origin; publishable keys are not for them. */
function checkOrigin({ origins = [] }: ApiKey, target: Target): void {
  if (target.origins.some((origin) => origins.includes(origin))) return;
  throw new ServiceError('forbidden', {
    param: 'Origin',
    message: 'This publishable API key can be used only by pages of its configured origins.',
  });
}
