/** The scopes of API keys, by domain and verb. `admin` allows everything. */
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
  'keys:read',
  'keys:write',
  'metrics:read',
  'admin',
] as const;

export type Scope = (typeof scopes)[number];

/**
 * What a route requires: an API key with a scope; a signature by the sender of the request (`signed`); or nothing
 * (`public`).
 */
export type Access = Scope | 'signed' | 'public';
