import { userKey } from './identity.ts';
import type { Session } from './session.ts';
import type { RefreshFamily } from './tokens/refresh-family.ts';

/** Which sessions are meant, and with them the tokens of apps: those for which every given condition holds. */
export interface SessionFilter {
  /** The id of the user. */
  readonly user?: string;
  /** `<provider>/<name>` */
  readonly integration?: string;
  /** The public id of a session. */
  readonly session?: string;
  /** The id of the session at the provider (`sid`). */
  readonly providerSession?: string;
  /** Milliseconds since 1970. */
  readonly createdBefore?: number;
}

/** What a condition looks at, of a session and of a family of refresh tokens alike. */
type Filtered = Pick<Session, 'identity' | 'providerSession' | 'createdAt'>;

export function matches(session: Session, filter: SessionFilter): boolean {
  return meets(session, filter) && (filter.session === undefined || filter.session === session.id);
}

/**
 * Whether a family of refresh tokens ends with the sessions: it came from one of them, or the conditions hold for itself. It
 * may outlive its session.
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

function meets(
  each: Filtered,
  { user, integration, providerSession, createdBefore }: SessionFilter,
): boolean {
  // Where the user is named, a sign-in that knows no session at the provider may have been of this one.
  const isOther = each.providerSession !== providerSession;
  const isUnknown = user !== undefined && each.providerSession === undefined;
  return (
    (user === undefined || user === userKey(each.identity)) &&
    (integration === undefined || integration === integrationOf(each)) &&
    (providerSession === undefined || !isOther || isUnknown) &&
    (createdBefore === undefined || each.createdAt < createdBefore)
  );
}

function integrationOf({ identity }: Pick<Session, 'identity'>): string {
  return `${identity.provider}/${identity.integration}`;
}
