import { ServiceError } from '../errors.ts';
import type { ApiKey } from './api-key.ts';
import type { Actor } from './audit.ts';
import type { Scope } from './scopes.ts';

/** Who sends a request. */
export interface Caller {
  /** The id of the API key; empty for whoever needs none. */
  readonly id: string;
  readonly key: ApiKey | undefined;
}

/** A caller of an open service, or of what anybody may ask for. */
export const anybody: Caller = { id: '', key: undefined };

/** Whose idempotency keys a caller's are: they outlive an API key that another one takes over from. */
export function shopOf({ id, key }: Caller): string {
  return key?.shop ?? id;
}

/** As the audit trail names it. */
export function actorOf({ id }: Caller): Actor {
  return id === '' ? 'open' : `key:${id}`;
}

/** What a request is about, as its path tells. */
export interface Target {
  readonly table: string | undefined;
  /** `processor/route` of a payment. */
  readonly route: string | undefined;
  /** The header `Origin`. */
  readonly origin: string | undefined;
}

/**
 * Refuses with `forbidden` what a key may not do, saying what it lacks. A limit holds for all of its domain: a request
 * on tables that names none is none that the key may make.
 */
export function checkPermission(key: ApiKey, needed: Scope, target: Target): void {
  if (!key.scopes.includes(needed) && !key.scopes.includes('admin')) {
    throw new ServiceError('forbidden', {
      message: `This API key lacks the scope ${needed}.`,
      // RFC 6750, 3.1
      headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${needed}"` },
    });
  }
  if (needed.startsWith('tables:')) checkLimit(key.tables, target.table, 'TABLE_NAME', 'tables');
  if (needed.startsWith('payments:')) checkLimit(key.routes, target.route, 'route_id', 'payment routes');
  if (key.kind === 'publishable') checkOrigin(key, target.origin);
}

function checkLimit(
  limits: readonly string[] | undefined,
  asked: string | undefined,
  param: string,
  what: string,
): void {
  if (limits === undefined || (asked !== undefined && limits.includes(asked))) return;
  throw new ServiceError('forbidden', {
    param,
    message: `This API key is limited to some ${what}, and this is none of them.`,
  });
}

/** A browser says truthfully where a page is from; what is not a browser could say anything, and has no business here. */
function checkOrigin({ origins = [] }: ApiKey, origin: string | undefined): void {
  if (origin !== undefined && origins.includes(origin)) return;
  throw new ServiceError('forbidden', {
    param: 'Origin',
    message: 'This is a publishable API key, for pages of its own origins alone.',
  });
}
