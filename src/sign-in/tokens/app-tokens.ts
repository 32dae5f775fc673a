import type { Write } from '../../storage/engine.ts';
import type { Session } from '../session.ts';

/** What an app on another origin asked for when its sign-in was begun. */
export interface AppRequest {
  readonly returnUrl: string;
  /** RFC 7636, 4.2, by the method S256. */
  readonly codeChallenge: string;
}

/** What the sign-in flow needs of tokens for apps elsewhere. */
export interface AppTokens {
  /**
   * A one-time code (≤ 60 s) for an app elsewhere, and the writes that make it good: they belong into the commit of its
   * session, so that neither is ever there without the other. Refuses with `invalid_request` what is no challenge of S256.
   */
  newCode(
    session: Session,
    request: AppRequest,
  ): { readonly code: string; readonly writes: readonly Write[] };
}
