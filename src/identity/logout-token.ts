import type { JWTPayload } from 'jose';
import { checkIssuedAt, checkType } from './id-token.ts';
import { clockToleranceSeconds } from './limits.ts';
import { type Logout, ProviderFailure } from './provider.ts';

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** What a logout token says whose signature, issuer and audience were verified. */
export function logoutOf(payload: JWTPayload, typ: string | undefined): Logout {
  checkType(typ, ['jwt', 'logout+jwt']);
  checkIssuedAt(payload);
  const { iss = '', sub, sid, jti, exp = 0, events } = payload;
  const isLogout = isObject(events) && isObject(events[logoutEvent]) && !('nonce' in payload);
  const namesSomebody = sub !== undefined || sid !== undefined;
  const areTexts = [jti ?? '', sub ?? '', sid ?? ''].every((name) => typeof name === 'string');
  if (!isLogout || !namesSomebody || !areTexts || jti === undefined)
    throw new ProviderFailure('untrusted', 'logout_token');
  return {
    issuer: iss,
    ...(sub === undefined ? {} : { subject: sub }),
    ...(sid === undefined ? {} : { providerSession: sid as string }),
    id: jti,
    expiresAt: (exp + clockToleranceSeconds) * 1_000,
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
