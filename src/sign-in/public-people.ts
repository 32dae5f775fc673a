import { userKey } from './identity.ts';
import { endOf, type Session } from './session.ts';
import type { User } from './users.ts';

/** Users and sessions as the administrative API and the CLI return them. */

export function publicUser({ emailVerified, firstSignInAt, lastSignInAt, ...user }: User) {
  return {
    ...user,
    ...(emailVerified === undefined ? {} : { email_verified: emailVerified }),
    first_sign_in_at: firstSignInAt,
    last_sign_in_at: lastSignInAt,
  };
}

export function publicSession(session: Session) {
  const { id, identity, createdAt, lastSeenAt } = session;
  return {
    id,
    user: userKey(identity),
    provider: identity.provider,
    integration: identity.integration,
    created_at: new Date(createdAt).toISOString(),
    last_seen_at: new Date(lastSeenAt).toISOString(),
    expires_at: new Date(endOf(session)).toISOString(),
  };
}
