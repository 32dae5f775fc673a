import type { RefreshFamily } from './tokens/refresh-family.ts';
import type { Session, SessionFilter } from './types.ts';
import { userKey } from './types.ts';

/** The fields that conditions read, common to sessions and refresh token families. */
export type Filtered = Pick<Session, 'identity' | 'providerSession' | 'createdAt'>;

export function matches(session: Session, filter: SessionFilter): boolean {
  return meets(session, filter) && (filter.session === undefined || filter.session === session.id);
}

/**
 * Whether a refresh token family ends with the sessions. It ends if it came from one of them. It also ends if it meets
 * the conditions itself, because it may outlive its session.
 *
 * @param ended the public ids of the sessions that match
 */
export function matchesFamily(
  family: RefreshFamily,
  filter: SessionFilter,
  ended: ReadonlySet<string>,
): boolean {
  if (ended.has(family.sessionId)) return true;
  return meets(family, filter) && (filter.session === undefined || filter.session === family.sessionId);
}

/** Whether a session or a refresh token family meets all conditions except the one on the session's own id. */
export function meets(
  each: Filtered,
  { user, integration, integrations, issuer, providerSession, createdBefore }: SessionFilter,
): boolean {
  // If the filter names the user, a sign-in without a provider session may belong to the session that the filter names.
  const isOther = each.providerSession !== providerSession;
  const isUnknown = user !== undefined && each.providerSession === undefined;
  return (
    (user === undefined || user === userKey(each.identity)) &&
    (integration === undefined || integration === integrationPath(each)) &&
    (integrations === undefined || integrations.includes(integrationPath(each))) &&
    (issuer === undefined || issuer === each.identity.issuer) &&
    (providerSession === undefined || !isOther || isUnknown) &&
    (createdBefore === undefined || each.createdAt < createdBefore)
  );
}

function integrationPath({ identity }: Pick<Session, 'identity'>): string {
  return `${identity.provider}/${identity.integration}`;
}
