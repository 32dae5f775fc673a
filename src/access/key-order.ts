import { ServiceError } from '../errors.ts';
import { isWebOrigin } from '../origins.ts';
import { isTableName } from '../table-name.ts';
import type { ApiKey } from './api-key.ts';
import { apiKeyLimitsMax, apiKeyNameCharactersMax } from './limits.ts';
import { type Scope, scopes } from './scopes.ts';

/** A key as it is asked for. */
export type CreateKeyRequest = Pick<
  ApiKey,
  'kind' | 'name' | 'scopes' | 'tables' | 'routes' | 'origins' | 'expiresAt'
>;

const namePattern = new RegExp(`^[^\\p{C}]{1,${apiKeyNameCharactersMax}}$`, 'u');
const routePattern = /^[a-z0-9][a-z0-9_-]*\/[a-z0-9][a-z0-9_-]*$/;

/** All that a publishable key may ever do: everybody can read it. */
export const publishableScopes: readonly Scope[] = ['payments:create'];

/** Refuses with `invalid_request` what is not well formed, and what would not do what it seems to say. */
export function checkCreateKeyRequest(order: CreateKeyRequest, now: number): void {
  const { kind, name, scopes: asked, expiresAt } = order;
  if (!namePattern.test(name)) {
    throw invalid('name', `name must be 1 to ${apiKeyNameCharactersMax} printable characters.`);
  }
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now) {
    throw invalid('expires', 'The key would have expired already.');
  }
  if (asked.length === 0) throw invalid('scope', `A key needs a scope: ${scopes.join(', ')}.`);
  for (const scope of asked) {
    if (!scopes.includes(scope)) throw invalid('scope', `There is no scope ${scope}: ${scopes.join(', ')}.`);
  }
  if (kind === 'publishable') checkPublishable(order);
  else if (order.origins !== undefined) {
    throw invalid(
      'origin',
      'Only a publishable key has origins: a secret key does not belong into a browser.',
    );
  }
  checkTables(order);
  checkRoutes(order);
}

function checkPublishable({ scopes: asked, origins = [] }: CreateKeyRequest): void {
  if (asked.some((scope) => !publishableScopes.includes(scope))) {
    throw invalid('scope', 'A publishable key creates payments, and nothing else: everybody can read it.');
  }
  if (origins.length === 0)
    throw invalid('origin', 'A publishable key needs the origins whose pages may use it.');
  checkCount('origin', origins);
  const wrong = origins.find((origin) => !isWebOrigin(origin));
  if (wrong !== undefined) {
    throw invalid('origin', `${wrong} is no origin such as https://shop.example (http on loopback alone).`);
  }
}

function checkTables({ scopes: asked, tables }: CreateKeyRequest): void {
  if (tables === undefined) return;
  checkCount('table', tables);
  if (!tables.every(isTableName)) throw invalid('table', 'This is no name of a table.');
  checkLimitMeans('table', 'tables:', asked);
}

function checkRoutes({ scopes: asked, routes }: CreateKeyRequest): void {
  if (routes === undefined) return;
  checkCount('route', routes);
  if (!routes.every((route) => routePattern.test(route))) {
    throw invalid('route', 'A route is processor/route, for instance stripe/charge.');
  }
  checkLimitMeans('route', 'payments:', asked);
}

/** A limit on what the key may not do anyway, or on one that may do everything, was meant otherwise. */
function checkLimitMeans(param: string, domain: string, asked: readonly Scope[]): void {
  if (asked.includes('admin')) throw invalid(param, 'The scope admin is everything; it cannot be limited.');
  if (!asked.some((scope) => scope.startsWith(domain))) {
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
