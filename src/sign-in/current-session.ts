import type { SignInContext } from './context.ts';
import type { Session } from './session.ts';

/** The session of a browser. Undefined also if its integration has been deleted or registered again since. */
export async function currentSession(
  { sessions, integrations }: Pick<SignInContext, 'sessions' | 'integrations'>,
  cookie: string | undefined,
): Promise<Session | undefined> {
  const session = cookie === undefined ? undefined : await sessions.find(cookie);
  if (session === undefined) return undefined;
  const { identity, registrationId } = session;
  const registration = await integrations.findRegistration(identity.provider, identity.integration);
  return registration !== undefined && registration.id === registrationId ? session : undefined;
}
