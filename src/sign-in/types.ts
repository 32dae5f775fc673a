import { createHash } from 'node:crypto';
import { defined } from '../defined.ts';
import type { Checks } from '../identity/provider.ts';
import { sessionIdleMsMax, sessionMsMax } from './limits.ts';

/** The types of sign-in, for other folders too. */

/** The identity providers that an integration can be registered with, by path segment. */
export interface ProviderFacts {
  /** The prefix of the provider's field names, an alternative to the neutral `IDP`. */
  readonly prefix: string;
  /** Whether the registration must name the issuer, because the path segment does not determine it. */
  readonly needsIssuer: boolean;
  /** The scopes of a registration that names none. They suffice to identify the user. */
  readonly defaultScopes: readonly string[];
  /** Without these the provider does not identify the user (OpenID Connect Core 1.0, 3.1.2.1). */
  readonly requiredScopes: readonly string[];
}

const openIdConnect = { defaultScopes: ['openid', 'profile', 'email'], requiredScopes: ['openid'] };

export const identityProviders = {
  google: { prefix: 'GOOGLE', needsIssuer: false, ...openIdConnect },
  microsoft: { prefix: 'MICROSOFT', needsIssuer: false, ...openIdConnect },
  github: { prefix: 'GITHUB', needsIssuer: false, defaultScopes: ['read:user'], requiredScopes: [] },
  oidc: { prefix: 'OIDC', needsIssuer: true, ...openIdConnect },
} as const satisfies Record<string, ProviderFacts>;

export type ProviderName = keyof typeof identityProviders;
export const providerNames = Object.keys(identityProviders) as readonly ProviderName[];

export function isProviderName(text: string): text is ProviderName {
  return Object.hasOwn(identityProviders, text);
}

/** A user as the provider reports them, identified only by issuer and subject, never by e-mail (OpenID Connect Core 1.0, 5.7). */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  readonly provider: ProviderName;
  readonly integration: string;
  readonly name?: string;
  readonly email?: string;
  readonly emailVerified?: boolean;
  readonly picture?: string;
}

/** At least 128 bits of a digest, so that two users never share a key. */
const userKeyCharacters = 22;

/**
 * The id of a user: the first 22 characters of the base64url SHA-256 of issuer and subject. It never begins with `-`,
 * because a command line would read that as an option.
 */
export function userKey({ issuer, subject }: Pick<Identity, 'issuer' | 'subject'>): string {
  // JSON separates issuer and subject, so ("a", "bc") and ("ab", "c") are different users.
  const digest = createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('base64url');
  return digest.slice(0, userKeyCharacters).replace(/^-/, 'A');
}

/** The user key of a record id, `<user key>.<rest>`. */
export function userKeyInId(recordId: string): string {
  return recordId.slice(0, userKeyCharacters);
}

export function isUserKey(text: string): boolean {
  return /^\w[\w-]{21}$/.test(text);
}

/** A user who has signed in, identified by issuer and subject. */
export interface User extends Identity {
  /** The `sub` of access tokens: 22 characters. */
  readonly id: string;
  /** RFC 3339. */
  readonly firstSignInAt: string;
  readonly lastSignInAt: string;
}

/** A signed-in browser. */
export interface Session {
  /** The public id: it names the session in records and responses, and authorizes nothing. */
  readonly id: string;
  readonly identity: Identity;
  /** The registration by which the user signed in; absent in sessions that are older than registration ids. */
  readonly registrationId?: string;
  /** The id of the user's session at the provider (`sid`), if the provider sent one. */
  readonly providerSession?: string;
  /** The digest of the state of the sign-in that began the session. */
  readonly stateDigest?: string;
  /**
   * Only for a sign-in to the console, which is not a session of the app. It is `proven` until the page of the console
   * exchanges it for a session of the console, and then `exchanged`. That session ends with this record.
   */
  readonly console?: 'proven' | 'exchanged';
  /** Only for a sign-in to the console: the id of its integration's approval. The sign-in ends with the approval. */
  readonly consoleApproval?: string;
  /**
   * Only for a sign-in to the console, which ends earlier than a session of the app: its end, in milliseconds since
   * 1970.
   */
  readonly endsAt?: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** When the session was last used, with a resolution of `sessionSeenStepMs`. */
  readonly lastSeenAt: number;
}

/** When a session ends if it is no longer used, in milliseconds since 1970. */
export function sessionEnd({ createdAt, lastSeenAt, endsAt = Number.POSITIVE_INFINITY }: Session): number {
  return Math.min(createdAt + sessionMsMax, lastSeenAt + sessionIdleMsMax, endsAt);
}

/** Whether a session has expired. @param now milliseconds since 1970 */
export function isOver(session: Session, now: number): boolean {
  const { createdAt, lastSeenAt, endsAt = Number.POSITIVE_INFINITY } = session;
  return now - createdAt > sessionMsMax || now - lastSeenAt > sessionIdleMsMax || now >= endsAt;
}

/** Selects the sessions, and the tokens of apps, that meet all given conditions. */
export interface SessionFilter {
  /** The id of the user. */
  readonly user?: string;
  /** `<provider>/<name>` */
  readonly integration?: string;
  /** Like `integration`, but matches any of several. */
  readonly integrations?: readonly string[];
  /** The issuer of the user. */
  readonly issuer?: string;
  /** The public id of a session. */
  readonly session?: string;
  /** The id of the session at the provider (`sid`). */
  readonly providerSession?: string;
  /** Milliseconds since 1970. */
  readonly createdBefore?: number;
}

/** A user as the administrative API and the CLI return one. */
export function publicUser({ emailVerified, firstSignInAt, lastSignInAt, ...user }: User) {
  return {
    ...user,
    ...defined({ email_verified: emailVerified }),
    first_sign_in_at: firstSignInAt,
    last_sign_in_at: lastSignInAt,
  };
}

/** A session as the administrative API and the CLI return one. */
export function publicSession(session: Session) {
  const { id, identity, createdAt, lastSeenAt } = session;
  return {
    id,
    user: userKey(identity),
    provider: identity.provider,
    integration: identity.integration,
    created_at: new Date(createdAt).toISOString(),
    last_seen_at: new Date(lastSeenAt).toISOString(),
    expires_at: new Date(sessionEnd(session)).toISOString(),
  };
}

/** A registered integration without its secret. */
export interface Integration {
  readonly name: string;
  readonly provider: ProviderName;
  readonly clientId: string;
  readonly issuer?: string;
  readonly returnUrls: readonly string[];
  readonly scopes: readonly string[];
  readonly createdAt: string;
  /** Since when the console accepts this integration; absent if it does not. */
  readonly consoleApprovedAt?: string;
}

/** The request that begins a sign-in. */
export interface SignInRequest {
  readonly provider: ProviderName;
  readonly integration: string;
  /** The digest of the client id at the provider, so that no other client can finish the sign-in. */
  readonly clientDigest: string;
  /** The id of the integration's registration; absent if the registration is older than registration ids. */
  readonly registrationId?: string;
  readonly returnTo: { readonly url: string; readonly isOurs: boolean };
  /** For an app on another origin: the PKCE challenge (S256) that its code is bound to. */
  readonly codeChallenge?: string;
  /** For an app on another origin: the app's own text, which it receives with the code (RFC 6749, 4.1.1). */
  readonly appState?: string;
  /** Whether the page of the console began the sign-in. The browser then gets no session of the app. */
  readonly isForConsole?: true;
}

/** A begun sign-in: the checks for the provider, and the cookie for the browser. */
export interface BegunSignIn {
  readonly checks: Checks;
  /** Distinguishes the cookie from those of other tabs; sorts by time. */
  readonly cookieSuffix: string;
  /** The sign-in, encrypted for its state. */
  readonly cookie: string;
}
