import { type AdministrativeAct, audited, type Requester } from '../audit/audit.ts';
import { ServiceError } from '../errors.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { commitWritesMax } from '../storage/limits.ts';
import type { Records, Stored } from '../storage/records.ts';
import { EndingMarkers, type Marker, type RevocationScope } from './ending-markers.ts';
import { endingRecoveryMs, refreshFamiliesPerUserMax, sessionsPerUserMax } from './limits.ts';
import { RecentEndings } from './recent-endings.ts';
import { matches, matchesFamily, sessionRecords, userRecords } from './sessions.ts';
import { type RefreshFamily, refreshFamilies } from './tokens/refresh-family.ts';
import { isUserKey, type Session, type SessionFilter, userKeyInId } from './types.ts';
import { type StoredUser, userProfiles } from './users.ts';

export interface Ending extends RevocationScope {
  /** Written to the audit if anything ends. */
  readonly act: AdministrativeAct;
  /** A further write of the commit. If the engine rejects it, nothing ends. */
  readonly also?: Write;
}

/** The deletions for one user, in order. */
interface RevocationBatch {
  readonly writes: readonly Write[];
  /** The engine rejects them if the user has signed in since the records were read. */
  readonly checks: readonly Write[];
  readonly sessions: number;
}

/** All sessions and refresh token families of a user. */
interface UserGrants {
  readonly sessions: readonly Stored<Session>[];
  readonly families: readonly Stored<RefreshFamily>[];
}

/**
 * Ends sessions and the tokens issued from them. An ending is complete when its promise resolves. It is one commit if
 * it fits into one; a larger ending takes several, tokens first. If the process dies in between, `recover` finishes the
 * ending.
 */
export class AccessEnding {
  readonly #engine: Engine;
  readonly #users: Records<StoredUser>;
  readonly #sessions: Records<Session>;
  readonly #families: Records<RefreshFamily>;
  readonly #now: () => number;
  readonly #markers: EndingMarkers;
  /** The recent endings, which sign-ins under way must check. */
  readonly recent: RecentEndings;

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
    this.#users = userProfiles(engine);
    this.#sessions = sessionRecords(engine);
    this.#families = refreshFamilies(engine);
    this.#now = now;
    this.#markers = new EndingMarkers(engine, now);
    this.recent = new RecentEndings(engine, now);
  }

  /**
   * Ends the access that meets the conditions. If a sign-in under way meets them, it opens no session afterwards
   * (`RecentEndings`). Throws `precondition_failed` if the engine rejects `also`.
   *
   * @returns how many sessions ended
   */
  async end(ending: Ending): Promise<number> {
    const { filter, act, also, ...scope } = ending;
    const recorded = also === undefined ? [] : [also];
    for (;;) {
      const added = await this.recent.addition(filter);
      const first = added === undefined ? recorded : [...recorded, added];
      const { user } = filter;
      const batch = user === undefined ? undefined : await this.#batch(user, ending);
      const audit = batch === undefined || batch.writes.length === 0 ? [] : [audited(act, this.#now())];
      const whole = [...first, ...(batch?.writes ?? []), ...(batch?.checks ?? []), ...audit];
      const isOne = batch !== undefined && whole.length <= commitWritesMax;
      const marked = isOne ? undefined : await this.#markers.store({ ...scope, filter, act });
      const writes = marked === undefined ? whole : [...first, marked.write];
      const rejection = writes.length === 0 ? undefined : await this.#engine.commit(writes);
      if (rejection !== undefined && rejection.write < recorded.length)
        throw new ServiceError('precondition_failed');
      // A record has changed meanwhile: read again.
      if (rejection !== undefined) continue;
      return marked === undefined ? (batch?.sessions ?? 0) : this.#finish(marked, ending);
    }
  }

  /** Ends all access of a user and erases the profile. Throws `user_not_found`. */
  async deleteUser(user: string, requester: Requester): Promise<void> {
    const scope = { filter: { user }, deletesUser: true };
    if (!isUserKey(user) || (await this.#batch(user, scope)).writes.length === 0)
      throw new ServiceError('user_not_found');
    await this.end({ ...scope, act: { what: 'user.deleted', on: user, ...requester } });
  }

  /** Ends the oldest sessions and refresh token families of a user above the limits. */
  async trim(user: string): Promise<void> {
    const { sessions, families } = await this.#grants(user);
    const oldest = sessions.toSorted((one, other) => one.value.createdAt - other.value.createdAt);
    for (const { value: session } of oldest.slice(0, Math.max(0, sessions.length - sessionsPerUserMax))) {
      const act = { what: 'sessions.ended', on: session.id, by: 'service' } as const;
      await this.end({ filter: { user, session: session.id }, act });
    }
    const old = families.toSorted((one, other) => one.value.createdAt - other.value.createdAt);
    for (const { id } of old.slice(0, Math.max(0, families.length - refreshFamiliesPerUserMax)))
      await this.#engine.commit([this.#deletion(this.#families, id)]);
  }

  /** Finishes the endings of processes that have died. Ends only sessions and tokens that are older than the ending. */
  async recover(signal: AbortSignal): Promise<void> {
    for await (const { scope, beganAt, ...marker } of this.#markers.all()) {
      if (signal.aborted) return;
      if (Math.abs(this.#now() - beganAt) < endingRecoveryMs) continue;
      const { filter } = scope;
      // A session created in the same millisecond may be older than the ending.
      const createdBefore = Math.min(beganAt + 1, filter.createdBefore ?? Number.POSITIVE_INFINITY);
      await this.#finish(marker, { ...scope, filter: { ...filter, createdBefore } });
    }
  }

  /** Carries out a stored ending. Then removes it, unless the same ending was stored again meanwhile. */
  async #finish({ id, text }: Marker, scope: RevocationScope): Promise<number> {
    const { user } = scope.filter;
    let [sessions, current]: [number, string | undefined] = [0, text];
    for await (const each of user === undefined ? this.#usersOf(scope.filter) : [user]) {
      current = await this.#markers.recordAct(id, current);
      // Another process has finished the ending.
      if (current === undefined) return sessions;
      sessions += await this.#endBitByBit(each, scope);
    }
    await this.#markers.remove({ id, text: current });
    return sessions;
  }

  async #endBitByBit(user: string, scope: RevocationScope): Promise<number> {
    for (let sessions = 0; ; ) {
      const { writes, sessions: found } = await this.#batch(user, scope);
      sessions = Math.max(sessions, found);
      if (writes.length === 0) return sessions;
      for (let n = 0; n < writes.length; n += commitWritesMax) {
        const some = writes.slice(n, n + commitWritesMax);
        if ((await this.#engine.commit(some)) === undefined) continue;
        // A record that is already deleted must not stop the others.
        for (const write of some) await this.#engine.commit([write]);
      }
    }
  }

  async #batch(
    user: string,
    { filter, deletesUser = false, last }: RevocationScope,
  ): Promise<RevocationBatch> {
    // The user's record is read first. A sign-in changes it, so the engine rejects the commit if a session has begun
    // since.
    const record = await this.#users.find(user);
    const grants = await this.#grants(user);
    const sessions = grants.sessions.filter(({ value }) => matches(value, filter));
    const ids = new Set(sessions.map(({ value }) => value.id));
    const families = grants.families.filter(({ value }) => matchesFamily(value, filter, ids));
    const writes: Write[] = families.map(({ id }) => this.#deletion(this.#families, id));
    for (const isLast of [false, true])
      for (const { id, value } of sessions)
        if ((value.id === last) === isLast) writes.push(this.#deletion(this.#sessions, id));
    const deletesRecord = deletesUser && record !== undefined && isBefore(record.value, filter.createdBefore);
    if (deletesRecord) writes.push(this.#users.deletion(record));
    const checks = deletesRecord || filter.session !== undefined ? [] : [this.#users.check(user, record)];
    return { writes, checks, sessions: sessions.length };
  }

  /** Reads until every family comes with its session, unless the session ended earlier. */
  async #grants(user: string): Promise<UserGrants> {
    for (let sessions = await this.#sessionsOf(user); ; ) {
      const families: Stored<RefreshFamily>[] = [];
      for await (const family of userRecords(this.#families, user)) families.push(family);
      const seen = new Set(sessions.map(({ value }) => value.id));
      const unseen = new Set(families.map(({ value }) => value.sessionId).filter((id) => !seen.has(id)));
      if (unseen.size === 0) return { sessions, families };
      sessions = await this.#sessionsOf(user);
      if (!sessions.some(({ value }) => unseen.has(value.id))) return { sessions, families };
    }
  }

  async #sessionsOf(user: string): Promise<Stored<Session>[]> {
    const sessions: Stored<Session>[] = [];
    for await (const session of userRecords(this.#sessions, user)) sessions.push(session);
    return sessions;
  }

  /** Users with a session that matches, then users with tokens that match. */
  async *#usersOf(filter: SessionFilter): AsyncGenerator<string> {
    yield* listOwners(this.#sessions, (session) => matches(session, filter));
    yield* listOwners(this.#families, (family) => matchesFamily(family, filter, new Set()));
  }

  /** Unconditional: also deletes a record that has changed since it was read. */
  #deletion({ space }: Records<Session> | Records<RefreshFamily>, id: string): Write {
    return { kind: 'delete', space, id };
  }
}

/** The users of the records that match, each once. */
async function* listOwners<Value extends object>(
  records: Records<Value>,
  isMeant: (value: Value) => boolean,
): AsyncGenerator<string> {
  let last: string | undefined;
  for await (const page of records.pages()) {
    for (const { id, value } of page) {
      if (userKeyInId(id) === last || !isMeant(value)) continue;
      last = userKeyInId(id);
      yield last;
    }
  }
}

function isBefore({ lastSignInAt }: StoredUser, time: number | undefined): boolean {
  return time === undefined || Date.parse(lastSignInAt) < time;
}
