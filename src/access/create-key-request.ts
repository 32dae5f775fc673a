import { ServiceError } from '../errors.ts';
import { isWebOrigin } from '../origins.ts';
import { isTableName } from '../table-name.ts';
import type { ApiKey } from './api-key.ts';
import { apiKeyLimitsMax, apiKeyNameCharactersMax } from './limits.ts';
import { type Scope, scopes } from './scopes.ts';

/** The requested properties of a new key. */
export type CreateKeyRequest = Pick<
  ApiKey,
  'kind' | 'name' | 'scopes' | 'tables' | 'routes' | 'origins' | 'expiresAt'
>;

const namePattern = new RegExp(`^[^\\p{C}]{1,${apiKeyNameCharactersMax}}$`, 'u');
const routePattern = /^[a-z0-9][a-z0-9_-]*\/[a-z0-9][a-z0-9_-]*$/;

/** The only scopes of a publishable key, because everybody can read it. */
export const publishableScopes: readonly Scope[] = ['payments:create'];

/** Throws `invalid_request` if the request is not well formed, or if a part of it would have no effect. */
export function checkCreateKeyRequest(request: CreateKeyRequest, now: number): void {
  const { kind, name, scopes: requested, expiresAt } = request;
  if (!namePattern.test(name)) {
    throw invalid('name', `name must be 1 to ${apiKeyNameCharactersMax} printable characters.`);
  }
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now) {
    throw invalid('expires', 'expires must be in the future.');
  }
  if (requested.length === 0) throw invalid('scope', `A key needs a scope: ${scopes.join(', ')}.`);
  for (const scope of requested) {
    if (!scopes.includes(scope)) throw invalid('scope', `There is no scope ${scope}: ${scopes.join(', ')}.`);
  }
  if (kind === 'publishable') checkPublishable(request);
  else if (request.origins !== undefined) {
    throw invalid(
      'origin',
      'Only a publishable key has origins: a secret key must not be used in a browser.',
    );
  }
  checkTables(request);
  checkRoutes(request);
}

function checkPublishable({ scopes: requested, origins = [] }: CreateKeyRequest): void {
  if (requested.some((scope) => !publishableScopes.includes(scope))) {
    throw invalid('scope', 'A publishable key can only create payments, because everybody can read it.');
  }
  if (origins.length === 0)
    throw invalid('origin', 'A publishable key needs the origins of the pages that use it.');
  checkCount('origin', origins);
  const wrong = origins.find((origin) => !isWebOrigin(origin));
  if (wrong !== undefined) {
    throw invalid(
      'origin',
      `${wrong} is not an origin such as https://shop.example (http on loopback only).`,
    );
  }
}

function checkTables({ scopes: requested, tables }: CreateKeyRequest): void {
  if (tables === undefined) return;
  checkCount('table', tables);
  if (!tables.every(isTableName)) throw invalid('table', 'This is not a valid table name.');
  checkLimitMeans('table', 'tables:', requested);
}

function checkRoutes({ scopes: requested, routes }: CreateKeyRequest): void {
  if (routes === undefined) return;
  checkCount('route', routes);
  if (!routes.every((route) => routePattern.test(route))) {
    throw invalid('route', 'A route is processor/route, for instance stripe/charge.');
  }
  checkLimitMeans('route', 'payments:', requested);
}

/** Rejects a limit without effect: on operations that the key has no scope for, or on a key that may do everything. */
function checkLimitMeans(param: string, domain: string, requested: readonly Scope[]): void {
  if (requested.includes('admin'))
    throw invalid(param, 'The scope admin allows everything; it cannot be limited.');
  if (!requested.some((scope) => scope.startsWith(domain))) {
    throw invalid(param, `A limit to a ${param} needs a scope that begins with ${domain}`.concat('.'));
  }
}

function checkCount(param: string, limits: readonly string[]): void {
  if (limits.length === 0 || limits.length > apiKeyLimitsMax) {
    throw invalid(param, `A key can be limited to 1 to ${apiKeyLimitsMax} of them.`);
  }
}

function invalid(param: string, message: string): ServiceError {
  return new ServiceError('invalid_request', { param, message });
}
