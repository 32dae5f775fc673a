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
  /**
   * Of a sign-in to the console, which is no session of the app: `proven` until the page of the console exchanges it for a
   * session of its own, then `exchanged`. That session ends with this record.
   */
  readonly console?: 'proven' | 'exchanged';
  /** Of a sign-in to the console: the id of the approval of its integration, which it ends with. */
  readonly consoleApproval?: string;
  /** Milliseconds since 1970; of a sign-in to the console, which ends earlier than a session of the app. */
  readonly endsAt?: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** With a resolution of `sessionSeenStepMs`. */
  readonly lastSeenAt: number;
}

/** When a session ends if it is not used any more, in milliseconds since 1970. */
export function endOf({ createdAt, lastSeenAt, endsAt = Number.POSITIVE_INFINITY }: Session): number {
  return Math.min(createdAt + sessionMsMax, lastSeenAt + sessionIdleMsMax, endsAt);
}

/** Whether it has expired. @param now milliseconds since 1970 */
export function isOver(session: Session, now: number): boolean {
  const { createdAt, lastSeenAt, endsAt = Number.POSITIVE_INFINITY } = session;
  return now - createdAt > sessionMsMax || now - lastSeenAt > sessionIdleMsMax || now >= endsAt;
}
