import type { Identity } from '../identity.ts';

/** What the sign-in flow needs of tokens for apps elsewhere. */
export interface AppTokens {
  /**
   * A one-time code (≤ 60 s) for an app elsewhere, bound to integration, return URL and PKCE challenge (S256).
   *
   * Refuses with `invalid_request` what is no challenge of S256 (RFC 7636, 4.2).
   */
  issueCode(order: {
    readonly identity: Identity;
    readonly returnUrl: string;
    readonly codeChallenge: string;
    readonly sessionId: string;
    /** Of the integration. */
    readonly registrationId?: string | undefined;
  }): Promise<string>;
}
