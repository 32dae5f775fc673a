import type { Requester } from '../audit/audit.ts';
import { ServiceError } from '../errors.ts';
import type { SignInContext } from './context.ts';
import { userKey } from './identity.ts';

/** Ends the session with this public id, and its tokens. Throws `session_not_found`. */
export async function endSession(
  { sessions, accessEnding }: Pick<SignInContext, 'sessions' | 'accessEnding'>,
  id: string,
  requester: Requester,
): Promise<void> {
  const [session] = (await sessions.list({ session: id }, 1)).sessions;
  if (session === undefined) throw new ServiceError('session_not_found');
  await accessEnding.end({
    filter: { user: userKey(session.identity), session: id },
    act: { what: 'sessions.ended', on: id, ...requester },
  });
}
