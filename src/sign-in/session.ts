import type { Identity } from './identity.ts';
import { sessionIdleMsMax, sessionMsMax } from './limits.ts';

/** A signed-in browser. */
export interface Session {
  /** Public: it names the session in records and responses, and authorizes nothing. */
  readonly id: string;
  readonly identity: Identity;
  /** The registration by which the user signed in; absent in sessions from before registration ids existed. */
  readonly registrationId?: string;
  /** The id of the user's session at the provider (`sid`), if the provider sent one. */
  readonly providerSession?: string;
  /** The digest of the state of its sign-in. */
  readonly stateDigest?: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** With a resolution of `sessionSeenStepMs`. */
  readonly lastSeenAt: number;
}

/** When a session ends if it is not used any more, in milliseconds since 1970. */
export function endOf({ createdAt, lastSeenAt }: Session): number {
  return Math.min(createdAt + sessionMsMax, lastSeenAt + sessionIdleMsMax);
}
