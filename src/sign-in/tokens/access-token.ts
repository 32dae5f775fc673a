import { randomUUID } from 'node:crypto';
import { type Identity, userKey } from '../identity.ts';
import { accessTokenMs } from '../limits.ts';
import { type Signer, signingAlgorithm } from './signing-keys.ts';

export interface AccessTokenRequest {
  readonly identity: Identity;
  /** The origin of the return URL. */
  readonly audience: string;
  /** This service: its public origin and base path. */
  readonly issuer: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * A JWT that any app can verify by the published keys (RFC 9068). `sub` is the user's key at this service; the same
 * person at another provider is another one. `client_id` is `<provider>/<integration>`.
 */
export async function signAccessToken({ kid, key }: Signer, order: AccessTokenRequest): Promise<string> {
  const { identity, audience, issuer, now } = order;
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
