/** What an API key may be allowed, by domain and verb. `admin` is allowed everything. */
export const scopes = [
  'payments:create',
  'payments:read',
  'payments:refund',
  'tables:read',
  'tables:write',
  'integrations:read',
  'integrations:write',
  'users:read',
  'users:write',
  'metrics:read',
  'admin',
] as const;

export type Scope = (typeof scopes)[number];

/**
 * What a request on a route needs: a scope, or nothing. `signed` is a request that proves by its signature where it
 * comes from; `public` one that anybody may send.
 */
export type Access = Scope | 'signed' | 'public';
