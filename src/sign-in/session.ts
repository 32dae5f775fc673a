import type { Identity } from './identity.ts';
import { sessionIdleMsMax, sessionMsMax } from './limits.ts';

/** A browser in which somebody is signed in. */
export interface Session {
  /** Public: it names the session in records and answers, and opens nothing. */
  readonly id: string;
  readonly identity: Identity;
  /** The registration by which the user signed in; absent in sessions of before there were any. */
  readonly registrationId?: string;
  /** The id of the user's session at the provider, where it told one (`sid`). */
  readonly providerSession?: string;
  /** The digest of the state of its sign-in. */
  readonly stateDigest?: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** To the exactness of `sessionSeenStepMs`. */
  readonly lastSeenAt: number;
}

/** When a session that is not used any more ends, in milliseconds since 1970. */
export function endOf({ createdAt, lastSeenAt }: Session): number {
  return Math.min(createdAt + sessionMsMax, lastSeenAt + sessionIdleMsMax);
}
