import { type ApiKey, hasEnded } from './api-key.ts';

/** `valid` includes a key that will expire. */
export type KeyStatus = 'valid' | 'expired' | 'revoked';

/** @param now milliseconds since 1970 */
export function keyStatus(key: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, now: number): KeyStatus {
  if (key.revokedAt !== undefined) return 'revoked';
  return hasEnded(key, now) ? 'expired' : 'valid';
}

/** The fields of a key that may be shown: all except the hashes. @param now milliseconds since 1970 */
export function publicKey(key: ApiKey, now: number) {
  const { previous } = key;
  return {
    id: key.id,
    kind: key.kind,
    name: key.name,
    status: keyStatus(key, now),
    scopes: key.scopes,
    tables: key.tables ?? null,
    routes: key.routes ?? null,
    origins: key.origins ?? null,
    created_by: key.creators?.at(-1) ?? null,
    created_at: key.createdAt,
    expires_at: key.expiresAt ?? null,
    revoked_at: key.revokedAt ?? null,
    previous_until: previous !== undefined && Date.parse(previous.until) > now ? previous.until : null,
  };
}
