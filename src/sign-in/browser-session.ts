import { setTimeout as sleep } from 'node:timers/promises';
import type { Requester } from '../audit/audit.ts';
import { integrationUrls, type SignInContext } from './context.ts';
import { signOutUrlMsMax } from './limits.ts';
import type { Session } from './types.ts';
import { userKey } from './types.ts';

/** The session of a browser; also undefined if its integration was deleted or registered again since. */
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

export interface SignOut {
  readonly session: Session;
  /** Whether all sessions of the user end, in all browsers and apps. */
  readonly isEverywhere: boolean;
  readonly requester: Requester;
}

/** Ends a session and its tokens, or all sessions and tokens of its user. The session itself ends last. */
export async function signOut(
  { accessEnding }: Pick<SignInContext, 'accessEnding'>,
  { session, isEverywhere, requester }: SignOut,
): Promise<void> {
  const user = userKey(session.identity);
  await accessEnding.end({
    filter: isEverywhere ? { user } : { user, session: session.id },
    last: session.id,
    act: { what: 'user.signed_out', on: user, ...requester },
  });
}

/**
 * The address at which the user can also sign out of the provider; undefined if the provider has none, or does not
 * respond in time.
 */
export async function providerSignOutUrl(
  context: SignInContext,
  { identity, registrationId }: Session,
): Promise<string | undefined> {
  const over = new AbortController();
  try {
    const client = await context.integrations.findClient(identity.provider, identity.integration);
    // A new registration may have another provider.
    if (client.registrationId !== registrationId) return undefined;
    const { redirectUri } = integrationUrls(context, client);
    const pending = context.providers[identity.provider].signOutUrl(
      { ...client, redirectUri },
      `${context.origin}${context.prefix}/v3/auth/signed-out`,
    );
    const late = sleep(signOutUrlMsMax, undefined, { signal: over.signal }).catch(() => undefined);
    return (await Promise.race([pending, late]))?.href;
  } catch {
    // The error is ignored, because the user is signed out here, as requested.
    return undefined;
  } finally {
    over.abort();
  }
}
