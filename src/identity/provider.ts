/**
 * The port to an identity provider. Every method may throw ProviderFailure, and nothing else that is foreseen; the
 * adapter keeps what it learns about a provider for a bounded time, so that a warm sign-in costs no request but the
 * exchange of its code.
 */
export interface IdentityProvider {
  /** Asks the provider now what it says of itself. Fails with `unreachable` or `untrusted`. */
  discover(client: Client): Promise<void>;

  /** Where the browser is sent: the authorization request (RFC 6749, 4.1.1), with all checks in it. */
  begin(client: Client, checks: Checks): Promise<URL>;

  /**
   * From the parameters of the callback to who signed in: the issuer that answered (RFC 9207), an error it told
   * (`denied`, `refused`), the exchange of the code (RFC 6749, 4.1.3; RFC 7636, 4.5), the checks of the ID token
   * (OpenID Connect Core 1.0, 3.1.3.7). The caller has found the state to be its own.
   */
  finish(client: Client, parameters: URLSearchParams, checks: Checks): Promise<ProvenIdentity>;

  /**
   * Where a browser may go to sign out of the provider too (OpenID Connect RP-Initiated Logout 1.0); undefined where it
   * offers none, or none that a browser may be sent to. @param returnUrl where it comes back
   */
  signOutUrl(client: Client, returnUrl: string): Promise<URL | undefined>;

  /** Checks a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6). The caller sees to it that it is used once. */
  readLogoutToken(client: Client, token: string): Promise<Logout>;
}

/** Whom a provider has signed out: a user, one session at the provider, or one session of a user. */
export interface Logout {
  readonly issuer: string;
  readonly subject?: string;
  readonly providerSession?: string;
  /** Of the token (`jti`); with the issuer, unlike that of any other. */
  readonly id: string;
  /** Milliseconds since 1970: from then on the token is rejected for its age. */
  readonly expiresAt: number;
}

/** The client that an integration registered at the provider. */
export interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
  /** For providers that the name of the integration's provider does not tell alone. */
  readonly issuer?: string;
  readonly scopes: readonly string[];
  readonly redirectUri: string;
}

/** What ties a callback to the sign-in that was begun; each 32 random bytes in base64url, but for the stamp of the state. */
export interface Checks {
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636, 4.1; the challenge is always S256. */
  readonly codeVerifier: string;
}

/** Who signed in, in the field's standard claims (OpenID Connect Core 1.0, 5.1). */
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
 * - `unreachable`: down, slow, a 5xx, too large, or at an address that is not asked.
 * - `untrusted`: it says of itself, of its keys or of the user what does not hold.
 * - `refused`: it told an error: unknown client, wrong secret, used code.
 * - `denied`: the user, or a rule of the provider, said no.
 */
export type FailureReason = 'unreachable' | 'untrusted' | 'refused' | 'denied';

/** Why a provider signed nobody in. */
export class ProviderFailure extends Error {
  readonly reason: FailureReason;
  /** For the log: a code of ours, of the library's or of the protocol's closed lists; nothing that was sent. */
  readonly detail: string;
  /** The issuer that a provider reported where another one was expected. */
  readonly reportedIssuer: string | undefined;

  constructor(reason: FailureReason, detail: string, cause?: unknown, reportedIssuer?: string) {
    super(`${reason}: ${detail}`, { cause });
    this.name = 'ProviderFailure';
    this.reason = reason;
    this.detail = detail;
    this.reportedIssuer = reportedIssuer;
  }
}
