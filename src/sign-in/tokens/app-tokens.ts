import type { Write } from '../../storage/engine.ts';
import type { Session } from '../session.ts';

/** The request of an app on another origin at the beginning of its sign-in. */
export interface AppRequest {
  readonly returnUrl: string;
  /** RFC 7636, 4.2, by the method S256. */
  readonly codeChallenge: string;
}

/** The part of token issuing that the sign-in flow needs. */
export interface AppTokens {
  /**
   * A one-time code (≤ 60 s) for an app on another origin, and the writes that make it valid. Commit them together with the
   * session, so that neither exists without the other. Throws `invalid_request` for anything but an S256 challenge.
   */
  newCode(
    session: Session,
    request: AppRequest,
  ): { readonly code: string; readonly writes: readonly Write[] };
}
