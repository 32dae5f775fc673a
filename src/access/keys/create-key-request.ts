import { isWebOrigin } from '../../addresses.ts';
import { invalidRequest } from '../../errors.ts';
import { isTableName } from '../../table-name.ts';
import { type Scope, scopes } from '../scopes.ts';
import { type CreateKeyRequest, publishableScopes } from './api-key.ts';

const apiKeyNameCharactersMax = 100;
/** Tables, routes or origins that one key can be limited to. */
const apiKeyLimitsMax = 100;
/** Characters of such a route or origin: a DNS name has up to 253, plus the scheme and the port. */
const apiKeyLimitCharactersMax = 300;

const namePattern = new RegExp(`^[^\\p{C}]{1,${apiKeyNameCharactersMax}}$`, 'u');
const routePattern = /^[a-z0-9][a-z0-9_-]*\/[a-z0-9][a-z0-9_-]*$/;

/**
 * Throws `invalid_request` if the request is not well formed, or if a part of it would have no effect. `param` is the name of the
 * field in the HTTP interface.
 */
export function checkCreateKeyRequest(request: CreateKeyRequest, now: number): void {
  const { kind, name, scopes: requested, expiresAt } = request;
  if (!namePattern.test(name)) {
    throw invalidRequest('name', `name must be 1 to ${apiKeyNameCharactersMax} printable characters.`);
  }
  // The comparison also rejects an invalid time, because a key with it would never expire.
  if (expiresAt !== undefined && !(Date.parse(expiresAt) > now)) {
    throw invalidRequest('expires_at', 'The time at which a key expires must be in the future.');
  }
  if (requested.length === 0) throw invalidRequest('scopes', `A key needs a scope: ${scopes.join(', ')}.`);
  for (const scope of requested) {
    if (!scopes.includes(scope)) {
      const shown = scope.slice(0, apiKeyNameCharactersMax);
      throw invalidRequest('scopes', `There is no scope ${shown}: ${scopes.join(', ')}.`);
    }
  }
  if (new Set(requested).size < requested.length) throw invalidRequest('scopes', 'A scope is named twice.');
  if (kind === 'publishable') checkPublishable(request);
  else if (request.origins !== undefined) {
    throw invalidRequest(
      'origins',
      'Only a publishable key has origins: a secret key must not be used in a browser.',
    );
  }
  checkTables(request);
  checkRoutes(request);
}

function checkPublishable({ scopes: requested, origins = [] }: CreateKeyRequest): void {
  if (requested.some((scope) => !publishableScopes.includes(scope))) {
    throw invalidRequest(
      'scopes',
      'A publishable key can only create payments, because everybody can read it.',
    );
  }
  if (origins.length === 0)
    throw invalidRequest('origins', 'A publishable key needs the origins of the pages that use it.');
  checkCount('origins', origins);
  const wrong = origins.find((origin) => origin.length > apiKeyLimitCharactersMax || !isWebOrigin(origin));
  if (wrong !== undefined) {
    throw invalidRequest(
      'origins',
      `${wrong.slice(0, apiKeyLimitCharactersMax)} is not an origin such as https://shop.example (http on loopback only).`,
    );
  }
}

function checkTables({ scopes: requested, tables }: CreateKeyRequest): void {
  if (tables === undefined) return;
  checkCount('tables', tables);
  if (!tables.every(isTableName)) throw invalidRequest('tables', 'This is not a valid table name.');
  checkLimitMeans('tables', 'tables:', requested);
}

function checkRoutes({ scopes: requested, routes }: CreateKeyRequest): void {
  if (routes === undefined) return;
  checkCount('routes', routes);
  if (!routes.every((route) => route.length <= apiKeyLimitCharactersMax && routePattern.test(route))) {
    throw invalidRequest('routes', 'A route is processor/route, for instance stripe/charge.');
  }
  checkLimitMeans('routes', 'payments:', requested);
}

/**
 * Rejects a limit without effect: for operations that the key's scopes do not allow, or for a key that may do
 * everything.
 */
function checkLimitMeans(param: string, domain: string, requested: readonly Scope[]): void {
  if (requested.includes('admin'))
    throw invalidRequest(param, 'The scope admin allows everything; it cannot be limited.');
  if (!requested.some((scope) => scope.startsWith(domain))) {
    throw invalidRequest(param, `A limit to ${param} needs a scope that begins with ${domain}.`);
  }
}

function checkCount(param: string, limits: readonly string[]): void {
  if (limits.length === 0 || limits.length > apiKeyLimitsMax) {
    throw invalidRequest(param, `A key can be limited to 1 to ${apiKeyLimitsMax} of them.`);
  }
}
