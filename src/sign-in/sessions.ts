import { LRUCache } from 'lru-cache';
import { digest, randomText } from '../random.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { scanPageItemsMax } from '../storage/limits.ts';
import { Records, type Stored } from '../storage/records.ts';
import { sessionSeenStepMs, sessionsCachedMax } from './limits.ts';
import type { RefreshFamily } from './tokens/refresh-family.ts';
import { isOver, type Session, type SessionFilter, userKey, userKeyInId } from './types.ts';

/** A session with its secret, which only the browser has. */
export interface OpenedSession {
  readonly session: Session;
  readonly cookie: string;
  /**
   * Whether the session replaced one of the same user in this browser, so that the number of the user's sessions stays
   * the same.
   */
  readonly isRenewed: boolean;
}

/** The user who signs in, and what the session is bound to. */
export interface NewSession
  extends Pick<
    Session,
    | 'identity'
    | 'registrationId'
    | 'providerSession'
    | 'stateDigest'
    | 'console'
    | 'consoleApproval'
    | 'endsAt'
  > {
  /** The cookie of the browser's previous session. */
  readonly cookieBefore?: string | undefined;
}

export interface SessionPage {
  readonly sessions: readonly Session[];
  /** The start of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/** The records of the sessions of all users, and of sign-ins to the console. */
export function sessionRecords(engine: Engine): Records<Session> {
  return new Records(engine, 'sessions');
}

/** `<user key>.<secret>` */
const cookiePattern = /^[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}$/;
const userKeyCharacters = 22;

/**
 * The sessions of all users. A session is stored in `service:sessions` under `<user key>.<digest of its secret>`. So
 * the sessions of one user are adjacent, and the store reveals no secret.
 */
export class Sessions {
  readonly #engine: Engine;
  readonly #records: Records<Session>;
  readonly #now: () => number;
  /** The sessions by cookie. An entry is valid while the version of the space stays the same. */
  readonly #cache = new LRUCache<string, Stored<Session> & { readonly version: string }>({
    max: sessionsCachedMax,
  });

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
    this.#records = sessionRecords(engine);
    this.#now = now;
  }

  /**
   * Signs a user in; durable when it resolves. The secret is always new (OWASP, Session Management, renew the session
   * id), and the browser's previous secret becomes invalid. If the same user signs in again in the same browser, the
   * session keeps its public id, so that tokens stay bound to it.
   *
   * @param also makes further writes of the commit; called again if the engine rejected the commit
   */
  async begin(
    { cookieBefore, ...begun }: NewSession,
    also: (session: Session) => Promise<readonly Write[]> = async () => [],
  ): Promise<OpenedSession> {
    const key = userKey(begun.identity);
    const now = this.#now();
    const cookie = `${key}.${randomText()}`;
    for (;;) {
      const before = cookieBefore === undefined ? undefined : await this.#read(cookieBefore);
      const isSameUser = before !== undefined && userKey(before.value.identity) === key;
      const id = isSameUser ? before.value.id : `ses_${randomText().slice(0, 22)}`;
      const session: Session = { id, ...begun, createdAt: now, lastSeenAt: now };
      const made = this.#records.creation(recordId(cookie), session);
      const ended = before === undefined ? [] : [this.#deletion(before.id)];
      const rejection = await this.#engine.commit([made, ...ended, ...(await also(session))]);
      if (rejection === undefined) return { session, cookie, isRenewed: isSameUser };
      if (rejection.write === 0) throw new Error('two sessions are the same');
      // The previous session has expired, or the user has signed in elsewhere: read again.
    }
  }

  /**
   * The session of a cookie; undefined if it never existed, has ended or has expired. Returns the same object as before if
   * the session has not changed.
   */
  async find(cookie: string): Promise<Session | undefined> {
    const found = await this.#lookUp(cookie);
    if (found === undefined) return undefined;
    const now = this.#now();
    if (now - found.value.lastSeenAt < sessionSeenStepMs) return found.value;
    const session = { ...found.value, lastSeenAt: now };
    // A replacement cannot restore a session that has ended. The session stays valid if the store rejects writes.
    await this.#engine.commit([this.#records.replacement(found, session)]).catch(() => undefined);
    return session;
  }

  /** A page of the live sessions that match, ordered by record id. @param after the `next` of the previous page */
  async list(filter: SessionFilter, limit: number, after?: string): Promise<SessionPage> {
    const sessions: Session[] = [];
    let last: string | undefined;
    for await (const { id, value: session } of this.#stored(filter.user, after)) {
      if (this.#isOver(session) || !matches(session, filter)) continue;
      if (sessions.length === limit) return { sessions, next: last };
      sessions.push(session);
      last = id;
    }
    return { sessions, next: undefined };
  }

  /** Removes expired sessions. */
  sweep(signal: AbortSignal): Promise<void> {
    return this.#records.sweep((session) => this.#isOver(session), signal);
  }

  async *#stored(user: string | undefined, after: string | undefined): AsyncGenerator<Stored<Session>> {
    if (user !== undefined) yield* userRecords(this.#records, user, after);
    else for await (const page of this.#records.pages(after)) yield* page;
  }

  /** Unconditional: also deletes a session that was used since it was read. */
  #deletion(id: string): Write {
    return { kind: 'delete', space: this.#records.space, id };
  }

  /** Returns the cached session if no process has changed the space, and otherwise reads it. */
  async #lookUp(cookie: string): Promise<Stored<Session> | undefined> {
    const version = (await this.#engine.describe(this.#records.space))?.version;
    const cached = this.#cache.get(cookie);
    if (cached !== undefined && cached.version === version)
      return this.#isOver(cached.value) ? undefined : cached;
    const found = await this.#read(cookie);
    this.#cache.delete(cookie);
    // Without versions, the session is read each time.
    if (found === undefined || version === undefined) return found;
    const isSame = cached?.text === found.text;
    this.#cache.set(cookie, { ...found, ...(isSame ? { value: cached.value } : {}), version });
    return isSame ? cached : found;
  }

  async #read(cookie: string): Promise<Stored<Session> | undefined> {
    if (!isSessionCookie(cookie)) return undefined;
    const found = await this.#records.find(recordId(cookie));
    // A sign-in to the console is not a session of the app.
    const isOne = found !== undefined && !this.#isOver(found.value) && found.value.console === undefined;
    return isOne ? found : undefined;
  }

  #isOver(session: Session): boolean {
    return isOver(session, this.#now());
  }
}

/** Whether a text has the form of a session's secret. */
export function isSessionCookie(text: string): boolean {
  return cookiePattern.test(text);
}

/** The id of the record in `service:sessions`. It does not reveal the secret. */
export function recordId(cookie: string): string {
  return `${cookie.slice(0, userKeyCharacters)}.${digest(cookie.slice(userKeyCharacters + 1))}`;
}

/** Records of one user that are read at once; most users have a few sessions. */
const firstPageItems = 16;

/**
 * The records of one user. They are adjacent, because their ids are `<user key>.…`.
 *
 * @param behind the id after which they begin
 */
export async function* userRecords<Value extends object>(
  records: Records<Value>,
  user: string,
  behind = `${user}.`,
): AsyncGenerator<Stored<Value>> {
  let after = behind;
  for (let limit = firstPageItems; ; limit = Math.min(2 * limit, scanPageItemsMax)) {
    let count = 0;
    for await (const stored of records.list({ after, limit })) {
      if (userKeyInId(stored.id) !== user) return;
      yield stored;
      after = stored.id;
      count++;
    }
    if (count < limit) return;
  }
}

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
