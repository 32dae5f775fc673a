import { hash } from 'node:crypto';

/** The challenge of a PKCE verifier by the method S256 (RFC 7636, 4.2). */
export function pkceChallenge(codeVerifier: string): string {
  return hash('sha256', codeVerifier, 'base64url');
}
