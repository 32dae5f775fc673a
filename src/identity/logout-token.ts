import type { JWTPayload } from 'jose';
import { checkIssuedAt, checkType, providerSessionOf } from './id-token.ts';
import { clockToleranceSeconds, tokenAgeSecondsMax } from './limits.ts';
import { type Logout, ProviderFailure } from './provider.ts';

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** Checks the claims of a logout token. Its signature, issuer and audience have been verified. */
export function logoutOf(payload: JWTPayload, typ: string | undefined): Logout {
  checkType(typ, ['jwt', 'logout+jwt']);
  checkIssuedAt(payload);
  const { iss = '', sub, sid, jti, exp = 0, iat = 0, events } = payload;
  const isLogout = isObject(events) && isObject(events[logoutEvent]) && !('nonce' in payload);
  const isWhole = isText(jti) && isTextOrAbsent(sub) && isTextOrAbsent(sid) && (isText(sub) || isText(sid));
  if (!isLogout || !isWhole) throw new ProviderFailure('untrusted', 'logout_token');
  return {
    issuer: iss,
    ...(sub === undefined ? {} : { subject: sub }),
    ...(sid === undefined ? {} : { providerSession: providerSessionOf(sid as string) }),
    id: jti,
    expiresAt: (Math.min(exp, iat + tokenAgeSecondsMax) + clockToleranceSeconds) * 1_000,
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || isText(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
