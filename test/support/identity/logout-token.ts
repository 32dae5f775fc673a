import { randomUUID } from 'node:crypto';
import type { JWTPayload } from 'jose';
import type { ScriptedOidc, SigningKey } from '../oidc/scripted-oidc.ts';
import { credentials } from '../sign-in/signing-in.ts';

export const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** A valid logout token (OpenID Connect Back-Channel Logout 1.0, 2.4) of a user; `claims` override its own. */
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

/** Sends a logout token as a provider does, form-encoded (2.5). */
export async function sendLogout(origin: string, token: string, integration = 'oidc/web') {
  const response = await fetch(`${origin}/v3/auth/${integration}/back-channel-logout`, {
    method: 'POST',
    body: new URLSearchParams({ logout_token: token }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
