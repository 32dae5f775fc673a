import { randomUUID } from 'node:crypto';
import type { JWTPayload } from 'jose';
import type { ScriptedOidc, SigningKey } from './scripted-oidc.ts';
import { credentials } from './signing-in.ts';
import { tryToSend } from './try-to-send.ts';

export const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** An honest logout token (OpenID Connect Back-Channel Logout 1.0, 2.4) of a user, with other claims where given. */
export function logoutToken(
  provider: ScriptedOidc,
  claims: Readonly<Record<string, unknown>> = {},
  { header = {}, key }: { header?: object; key?: SigningKey } = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  const honest: JWTPayload = {
    iss: provider.issuer,
    aud: credentials.IDP_CLIENT_ID,
    sub: provider.subject,
    iat: now,
    exp: now + 120,
    jti: randomUUID(),
    events: { [logoutEvent]: {} },
  };
  const entries = Object.entries({ ...honest, ...claims }).filter(([, value]) => value !== undefined);
  return provider.sign(Object.fromEntries(entries), { typ: 'logout+jwt', ...header }, key ?? provider.key);
}

/** As the provider sends it, form-encoded (2.5). */
export function sendLogout(origin: string, token: string, integration = 'oidc/web') {
  return tryToSend(`${origin}/v3/auth/${integration}/back-channel-logout`, {
    method: 'POST',
    body: new URLSearchParams({ logout_token: token }),
  });
}
