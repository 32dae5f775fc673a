import type { Identity } from '../identity.ts';

/** What an app on another origin is given, instead of the cookie that it cannot have. */
export interface AppTokens {
  /** A one-time code (at most 60 s) for an app elsewhere, bound to integration, return URL and PKCE challenge (S256). */
  issueCode(order: {
    identity: Identity;
    returnUrl: string;
    codeChallenge: string;
    sessionId: string;
  }): Promise<string>;
  /** All refresh tokens of a user end. */
  signOutEverywhere(userKey: string): Promise<void>;
  /** Those that came from one session end. */
  signOutSession(userKey: string, sessionId: string): Promise<void>;
}
