import { hash } from 'node:crypto';
/**
 * The port to an identity provider. Every expected failure is a ProviderFailure. The adapter caches the metadata of a provider
 * for a bounded time, so that with a warm cache a sign-in costs only the request that exchanges its code.
 */
export interface IdentityProvider {
  /** Loads the metadata of the provider now. Fails with `unreachable` or `untrusted`. */
  discover(client: Client): Promise<void>;

  /** The address to send the browser to: the authorization request (RFC 6749, 4.1.1), with all checks. */
  begin(client: Client, checks: Checks): Promise<URL>;

  /**
   * Turns the parameters of the callback into the identity of the user: checks the issuer of the response (RFC 9207), reads
   * its error (`denied`, `rejected`), exchanges the code (RFC 6749, 4.1.3; RFC 7636, 4.5), and checks the ID token
   * (OpenID Connect Core 1.0, 3.1.3.7). The caller checks the state first.
   */
  finish(client: Client, parameters: URLSearchParams, checks: Checks): Promise<ProvenIdentity>;

  /**
   * The address to sign out of the provider too (OpenID Connect RP-Initiated Logout 1.0); undefined if the provider has none,
   * or none that is safe for a browser. @param returnUrl the address to return to afterwards
   */
  signOutUrl(client: Client, returnUrl: string): Promise<URL | undefined>;

  /** Checks a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6). The caller ensures that it is used once. */
  readLogoutToken(client: Client, token: string): Promise<Logout>;
}

/** What a `sub` of an ID token may be: at most 255 ASCII characters (OpenID Connect Core 1.0, 2), none a control character. */
export const subjectPattern = /^[\x20-\x7e]{1,255}$/;

/** A logout at the provider: of a user, of one session at the provider, or of one session of a user. */
export interface Logout {
  readonly issuer: string;
  readonly subject?: string;
  readonly providerSession?: string;
  /** The id of the token (`jti`), unique for the issuer. */
  readonly id: string;
  /** Milliseconds since 1970: from then on the token is rejected as expired. */
  readonly expiresAt: number;
}

/** The client that an integration registered at the provider. */
export interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Only for `oidc`, whose name does not determine the issuer. */
  readonly issuer?: string;
  readonly scopes: readonly string[];
  readonly redirectUri: string;
}

/** Bind a callback to its sign-in. Each is 32 random bytes in base64url; the state begins with a timestamp. */
export interface Checks {
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636, 4.1; the challenge is always S256. */
  readonly codeVerifier: string;
}

/** The user who signed in, with standard claims (OpenID Connect Core 1.0, 5.1). */
export interface ProvenIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly name?: string;
  readonly email?: string;
  readonly emailVerified?: boolean;
  readonly picture?: string;
  /** The id of the session at the provider (`sid`), which a logout token may name. */
  readonly providerSession?: string;
}

/**
 * - `unreachable`: it is down or slow, responds with a 5xx or too much, or is at an address that is not allowed.
 * - `untrusted`: its metadata, its keys or its claims about the user fail a check.
 * - `rejected`: it responded with an error: unknown client, wrong secret, used code.
 * - `denied`: the user, or a policy of the provider, denied access.
 */
export type FailureReason = 'unreachable' | 'untrusted' | 'rejected' | 'denied';

/** The reason why a sign-in at a provider failed. */
export class ProviderFailure extends Error {
  readonly reason: FailureReason;
  /** For the log: a code of the service, of the library or of the protocol's closed lists; never a received value. */
  readonly detail: string;
  /** The issuer that a provider reported, if another one was expected. */
  readonly reportedIssuer: string | undefined;

  constructor(reason: FailureReason, detail: string, cause?: unknown, reportedIssuer?: string) {
    super(`${reason}: ${detail}`, { cause });
    this.name = 'ProviderFailure';
    this.reason = reason;
    this.detail = detail;
    this.reportedIssuer = reportedIssuer;
  }
}

/** The challenge of a PKCE verifier by the method S256 (RFC 7636, 4.2). */
export function pkceChallenge(codeVerifier: string): string {
  return hash('sha256', codeVerifier, 'base64url');
}
