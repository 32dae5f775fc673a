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

export function matches(session: Session, filter: SessionFilter): boolean {
  const { user, integration, session: id, providerSession, createdBefore } = filter;
  return (
    (user === undefined || user === userKey(session.identity)) &&
    (integration === undefined || integration === integrationOf(session)) &&
    (id === undefined || id === session.id) &&
    (providerSession === undefined || providerSession === session.providerSession) &&
    (createdBefore === undefined || session.createdAt < createdBefore)
  );
}

/**
 * Whether a family of refresh tokens ends with the sessions: it came from one of them, or the conditions hold for itself. It
 * may outlive its session.
 *
 * @param ended the public ids of the sessions that match
 */
export function matchesFamily(
  family: RefreshFamily,
  { user, integration, session, providerSession, createdBefore }: SessionFilter,
  ended: ReadonlySet<string>,
): boolean {
  if (ended.has(family.sessionId)) return true;
  return (
    providerSession === undefined &&
    (user === undefined || user === userKey(family.identity)) &&
    (integration === undefined || integration === integrationOf(family)) &&
    (session === undefined || session === family.sessionId) &&
    (createdBefore === undefined || family.createdAt < createdBefore)
  );
}

function integrationOf({ identity }: Pick<Session, 'identity'>): string {
  return `${identity.provider}/${identity.integration}`;
}
