import { randomUUID } from 'node:crypto';
import { accessTokenMs } from '../limits.ts';
import { type Identity, userKey } from '../types.ts';
import { type Signer, signingAlgorithm } from './signing-keys.ts';

export interface AccessTokenRequest {
  readonly identity: Identity;
  /** The origin of the return URL. */
  readonly audience: string;
  /** The public origin and base path of this service. */
  readonly issuer: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * A JWT that any app can verify with the published keys (RFC 9068). `sub` is the user's key at this service; the same
 * person at another provider is another user. `client_id` is `<provider>/<integration>`.
 */
export async function signAccessToken({ kid, key }: Signer, request: AccessTokenRequest): Promise<string> {
  const { identity, audience, issuer, now } = request;
  const { SignJWT } = await import('jose');
  const issuedAt = Math.floor(now / 1_000);
  const { provider, integration, name, email, emailVerified, picture } = identity;
  return new SignJWT({
    client_id: `${provider}/${integration}`,
    provider,
    integration,
    ...(name === undefined ? {} : { name }),
    ...(email === undefined ? {} : { email }),
    ...(emailVerified === undefined ? {} : { email_verified: emailVerified }),
    ...(picture === undefined ? {} : { picture }),
  })
    .setProtectedHeader({ alg: signingAlgorithm, typ: 'at+jwt', kid })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(userKey(identity))
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + accessTokenMs / 1_000)
    .setJti(randomUUID())
    .sign(key);
}
