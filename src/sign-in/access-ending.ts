import { type AdministrativeAct, audited, type Requester } from '../audit/audit.ts';
import { ServiceError } from '../errors.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { pagesOf } from '../storage/item-text.ts';
import { commitWritesMax } from '../storage/limits.ts';
import { EndingMarkers, type Extent, type Marker } from './ending-markers.ts';
import { endingRecoveryMs, refreshFamiliesPerUserMax, sessionsPerUserMax } from './limits.ts';
import { RecentEndings } from './recent-endings.ts';
import { matches, matchesFamily } from './session-filter.ts';
import { sessionsSpace } from './sessions.ts';
import { type RefreshFamily, refreshFamiliesSpace } from './tokens/refresh-family.ts';
import type { Session, SessionFilter } from './types.ts';
import { isUserKey, userKeyOf } from './types.ts';
import { userRecords } from './user-records.ts';
import { type StoredUser, usersSpace } from './users.ts';

export interface Ending extends Extent {
  /** Written to the audit if anything ends. */
  readonly act: AdministrativeAct;
  /** A write of the same commit. If the engine rejects it, nothing ends. */
  readonly also?: Write;
}

/** The deletions for one user, in order. */
interface Doomed {
  readonly writes: readonly Write[];
  /** Rejected if the user has signed in since this was read. */
  readonly checks: readonly Write[];
  readonly sessions: number;
}

/** All sessions and refresh token families of a user. */
interface Access {
  readonly sessions: readonly { readonly id: string; readonly session: Session }[];
  readonly families: readonly { readonly id: string; readonly family: RefreshFamily }[];
}

/**
 * Ends sessions and the tokens issued from them. An ending is complete when its promise resolves. It takes one commit if it
 * fits; a larger one takes several, tokens first. If the process dies in between, `recover` finishes it.
 */
export class AccessEnding {
  readonly #engine: Engine;
  readonly #now: () => number;
  readonly #markers: EndingMarkers;
  /** What ended lately, for sign-ins that are under way. */
  readonly recent: RecentEndings;

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
    this.#now = now;
    this.#markers = new EndingMarkers(engine, now);
    this.recent = new RecentEndings(engine, now);
  }

  /**
   * Ends the access that meets the conditions. A sign-in that is under way and meets them opens no session afterwards
   * (`RecentEndings`). Throws `precondition_failed` if the engine rejects `also`. @returns how many sessions ended
   */
  async end(ending: Ending): Promise<number> {
    const { filter, act, also, ...extent } = ending;
    const recorded = also === undefined ? [] : [also];
    for (;;) {
      const added = await this.recent.addition(filter);
      const first = added === undefined ? recorded : [...recorded, added];
      const { user } = filter;
      const doomed = user === undefined ? undefined : await this.#doomed(user, ending);
      const audit = doomed === undefined || doomed.writes.length === 0 ? [] : [audited(act, this.#now())];
      const whole = [...first, ...(doomed?.writes ?? []), ...(doomed?.checks ?? []), ...audit];
      const isOne = doomed !== undefined && whole.length <= commitWritesMax;
      const marked = isOne ? undefined : await this.#markers.store({ ...extent, filter, act });
      const writes = marked === undefined ? whole : [...first, marked.write];
      const rejection = writes.length === 0 ? undefined : await this.#engine.commit(writes);
      if (rejection !== undefined && rejection.write < recorded.length)
        throw new ServiceError('precondition_failed');
      // A record has changed in the meantime: read again.
      if (rejection !== undefined) continue;
      return marked === undefined ? (doomed?.sessions ?? 0) : this.#finish(marked, ending);
    }
  }

  /** Ends all access of a user and erases the profile. Throws `user_not_found`. */
  async deleteUser(user: string, requester: Requester): Promise<void> {
    const extent = { filter: { user }, deletesUser: true };
    if (!isUserKey(user) || (await this.#doomed(user, extent)).writes.length === 0)
      throw new ServiceError('user_not_found');
    await this.end({ ...extent, act: { what: 'user.deleted', on: user, ...requester } });
  }

  /** Ends the oldest sessions and refresh token families of a user above the limits. */
  async trim(user: string): Promise<void> {
    const { sessions, families } = await this.#accessOf(user);
    const oldest = sessions.toSorted((one, other) => one.session.createdAt - other.session.createdAt);
    for (const { session } of oldest.slice(0, Math.max(0, sessions.length - sessionsPerUserMax))) {
      const act = { what: 'sessions.ended', on: session.id, by: 'service' } as const;
      await this.end({ filter: { user, session: session.id }, act });
    }
    const old = families.toSorted((one, other) => one.family.createdAt - other.family.createdAt);
    for (const { id } of old.slice(0, Math.max(0, families.length - refreshFamiliesPerUserMax)))
      await this.#engine.commit([{ kind: 'delete', space: refreshFamiliesSpace, id }]);
  }

  /** Finishes the endings of processes that have died. Only sessions and tokens from before an ending began end. */
  async recover(signal: AbortSignal): Promise<void> {
    for await (const { extent, beganAt, ...marker } of this.#markers.all()) {
      if (signal.aborted) return;
      if (Math.abs(this.#now() - beganAt) < endingRecoveryMs) continue;
      const { filter } = extent;
      // A session created in the same millisecond may be older than the ending.
      const createdBefore = Math.min(beganAt + 1, filter.createdBefore ?? Number.POSITIVE_INFINITY);
      await this.#finish(marker, { ...extent, filter: { ...filter, createdBefore } });
    }
  }

  /** Ends what a stored ending means, and removes it, unless it has been stored anew meanwhile. */
  async #finish({ id, text }: Marker, extent: Extent): Promise<number> {
    const { user } = extent.filter;
    let [sessions, current]: [number, string | undefined] = [0, text];
    for await (const each of user === undefined ? this.#usersOf(extent.filter) : [user]) {
      current = await this.#markers.recordAct(id, current);
      // Another process has finished it.
      if (current === undefined) return sessions;
      sessions += await this.#endBitByBit(each, extent);
    }
    await this.#markers.remove({ id, text: current });
    return sessions;
  }

  async #endBitByBit(user: string, extent: Extent): Promise<number> {
    for (let sessions = 0; ; ) {
      const { writes, sessions: found } = await this.#doomed(user, extent);
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

  async #doomed(user: string, { filter, deletesUser = false, last }: Extent): Promise<Doomed> {
    // Read first: a sign-in changes the record, so the engine rejects the commit if a session has begun since.
    const record = await this.#engine.get(usersSpace, user);
    const access = await this.#accessOf(user);
    const sessions = access.sessions.filter(({ session }) => matches(session, filter));
    const ids = new Set(sessions.map(({ session }) => session.id));
    const families = access.families.filter(({ family }) => matchesFamily(family, filter, ids));
    const writes: Write[] = families.map(({ id }) => ({ kind: 'delete', space: refreshFamiliesSpace, id }));
    for (const isLast of [false, true])
      for (const { id, session } of sessions)
        if ((session.id === last) === isLast) writes.push({ kind: 'delete', space: sessionsSpace, id });
    const deletesRecord = deletesUser && record !== undefined && isBefore(record, filter.createdBefore);
    if (deletesRecord) writes.push({ kind: 'delete', space: usersSpace, id: user, ifValue: record });
    const checks: Write[] =
      deletesRecord || filter.session !== undefined
        ? []
        : [{ kind: 'check', space: usersSpace, id: user, ifValue: record ?? null }];
    return { writes, checks, sessions: sessions.length };
  }

  /** Returns no family without its session, unless the session ended earlier. */
  async #accessOf(user: string): Promise<Access> {
    for (let sessions = await this.#sessionsOf(user); ; ) {
      const families: { readonly id: string; readonly family: RefreshFamily }[] = [];
      for await (const { id, name } of userRecords(this.#engine, refreshFamiliesSpace, user))
        families.push({ id, family: JSON.parse(name) as RefreshFamily });
      const seen = new Set(sessions.map(({ session }) => session.id));
      const unseen = new Set(families.map(({ family }) => family.sessionId).filter((id) => !seen.has(id)));
      if (unseen.size === 0) return { sessions, families };
      sessions = await this.#sessionsOf(user);
      if (!sessions.some(({ session }) => unseen.has(session.id))) return { sessions, families };
    }
  }

  async #sessionsOf(user: string): Promise<Access['sessions']> {
    const sessions: { readonly id: string; readonly session: Session }[] = [];
    for await (const { id, name } of userRecords(this.#engine, sessionsSpace, user))
      sessions.push({ id, session: JSON.parse(name) as Session });
    return sessions;
  }

  /** Users with a session that matches, then users with tokens that match. */
  async *#usersOf(filter: SessionFilter): AsyncGenerator<string> {
    const isMeant = {
      [sessionsSpace]: (text: string) => matches(JSON.parse(text) as Session, filter),
      [refreshFamiliesSpace]: (text: string) =>
        matchesFamily(JSON.parse(text) as RefreshFamily, filter, new Set()),
    };
    for (const from of [sessionsSpace, refreshFamiliesSpace] as const) {
      let last: string | undefined;
      for await (const page of pagesOf(this.#engine, from)) {
        for (const { id, name } of page) {
          if (userKeyOf(id) === last || !isMeant[from](name)) continue;
          last = userKeyOf(id);
          yield last;
        }
      }
    }
  }
}

function isBefore(record: string, time: number | undefined): boolean {
  return time === undefined || Date.parse((JSON.parse(record) as StoredUser).lastSignInAt) < time;
}
