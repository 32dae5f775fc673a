import { userKey } from './identity.ts';
import type { SignInParts } from './parts.ts';
import type { Session } from './sessions.ts';

export interface SignOut {
  readonly session: Session;
  /** That opens it. */
  readonly cookie: string;
  /** Whether all sessions of the user end, in every browser and app. */
  readonly isEverywhere: boolean;
}

/**
 * Ends a session and what came from it, or all of its user. The session itself ends last: whoever is cut off on the way is
 * still signed in, and can ask again.
 */
export async function signOut(
  { sessions, appTokens }: SignInParts,
  { session, cookie, isEverywhere }: SignOut,
): Promise<void> {
  const key = userKey(session.identity);
  if (isEverywhere) {
    await appTokens?.signOutEverywhere(key);
    const ended = await sessions.endOthers(key, cookie);
    // A sign-in that was being finished may have had tokens issued to a session that has just ended.
    await appTokens?.signOutSessions(key, ended);
  } else await appTokens?.signOutSession(key, session.id);
  await sessions.end(cookie);
}
