import { type AdministrativeAct, type Asked, audited } from '../access/audit.ts';
import { ServiceError } from '../errors.ts';
import { randomBytes } from '../random.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { pagesOf } from '../storage/item-text.ts';
import { commitWritesMax } from '../storage/limits.ts';
import { userKeyOf } from './identity.ts';
import { endingRecoveryMs } from './limits.ts';
import type { Session } from './session.ts';
import { matches, matchesFamily, type SessionFilter } from './session-filter.ts';
import { sessionsSpace } from './sessions.ts';
import { type RefreshFamily, refreshFamiliesSpace } from './tokens/refresh-family.ts';
import { type StoredUser, usersSpace } from './users.ts';

/** Whose access ends, and what of it. */
interface Extent {
  readonly filter: SessionFilter;
  /** Whether the user's own record goes as well; the filter then names the user. */
  readonly deletesUser?: boolean;
  /** The public id of the session that ends after all others: whoever asked can then ask again. */
  readonly last?: string;
}

export interface Ending extends Extent {
  /** Recorded if anything ends. */
  readonly act: AdministrativeAct;
  /** What else belongs to it; when the engine refuses it, nothing ends. */
  readonly also?: Write;
}

/** An ending that takes more than one commit, as it lies in `service:access-endings` until it is complete. */
interface StoredEnding extends Extent {
  /** Milliseconds since 1970. */
  readonly beganAt: number;
}

/** What of a user is to end, in the order in which it goes. */
interface Doomed {
  readonly writes: readonly Write[];
  readonly sessions: number;
}

const space = 'service:access-endings';

/**
 * Ends sessions and the tokens that came of them. An ending is complete when it resolves. What fits goes in one commit. What
 * does not goes bit by bit, tokens first; when the process dies on the way, `recover` finishes it.
 */
export class AccessEnding {
  readonly #engine: Engine;
  readonly #now: () => number;

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
    this.#now = now;
  }

  /**
   * Refuses with `precondition_failed` where `also` was refused. @returns how many sessions ended
   */
  async end(ending: Ending): Promise<number> {
    const { filter, act, also, ...extent } = ending;
    const recorded = also === undefined ? [] : [also];
    const audit = audited(act, this.#now());
    for (let { user } = filter; user !== undefined; ) {
      const doomed = await this.#doomed(user, ending);
      const writes = [...recorded, ...doomed.writes, ...(doomed.writes.length > 0 ? [audit] : [])];
      if (writes.length > commitWritesMax) break;
      const refusal = writes.length === 0 ? undefined : await this.#engine.commit(writes);
      if (refusal === undefined) return doomed.sessions;
      // Something of it has changed meanwhile: look again.
      if (refusal.write < recorded.length) throw new ServiceError('precondition_failed');
    }
    const id = randomBytes(16).toString('hex');
    const stored: StoredEnding = { ...extent, filter, beganAt: this.#now() };
    const marker: Write = { kind: 'create', space, id, value: JSON.stringify(stored), makeSpace: true };
    if ((await this.#engine.commit([marker, audit, ...recorded])) !== undefined)
      throw new ServiceError('precondition_failed');
    return this.#finish(id, ending);
  }

  /** Ends all access of a user and erases what is known of them. */
  async deleteUser(user: string, asked: Asked): Promise<void> {
    await this.end({
      filter: { user },
      deletesUser: true,
      act: { what: 'user.deleted', on: user, ...asked },
    });
  }

  /** Finishes what processes began that have died since: sessions and tokens of before that. */
  async recover(signal: AbortSignal): Promise<void> {
    for await (const page of pagesOf(this.#engine, space)) {
      for (const { id, name } of page) {
        const { beganAt, filter, ...extent } = JSON.parse(name) as StoredEnding;
        // What was created in the same millisecond may have been before it.
        const createdBefore = Math.min(beganAt + 1, filter.createdBefore ?? Number.POSITIVE_INFINITY);
        if (signal.aborted) return;
        if (Math.abs(this.#now() - beganAt) >= endingRecoveryMs)
          await this.#finish(id, { ...extent, filter: { ...filter, createdBefore } });
      }
    }
  }

  async #finish(marker: string, extent: Extent): Promise<number> {
    const { user } = extent.filter;
    let sessions = 0;
    if (user !== undefined) sessions = await this.#endBitByBit(user, extent);
    else
      for await (const each of this.#usersOf(extent.filter))
        sessions += await this.#endBitByBit(each, extent);
    await this.#engine.commit([{ kind: 'delete', space, id: marker }]);
    return sessions;
  }

  async #endBitByBit(user: string, extent: Extent): Promise<number> {
    for (let sessions = 0; ; ) {
      const doomed = await this.#doomed(user, extent);
      sessions = Math.max(sessions, doomed.sessions);
      if (doomed.writes.length === 0) return sessions;
      const writes = doomed.writes.slice(0, commitWritesMax);
      if ((await this.#engine.commit(writes)) === undefined) continue;
      // One that is gone already does not keep the others.
      for (const write of writes) await this.#engine.commit([write]);
    }
  }

  async #doomed(user: string, { filter, deletesUser = false, last }: Extent): Promise<Doomed> {
    // Read first: a sign-in changes the record, so that its deletion is refused when a session was begun meanwhile.
    const record = deletesUser ? await this.#engine.get(usersSpace, user) : undefined;
    const sessions: { readonly id: string; readonly session: Session }[] = [];
    for await (const { id, name } of this.#itemsOf(sessionsSpace, user)) {
      const session = JSON.parse(name) as Session;
      if (matches(session, filter)) sessions.push({ id, session });
    }
    const ids = new Set(sessions.map(({ session }) => session.id));
    const writes: Write[] = [];
    for await (const { id, name } of this.#itemsOf(refreshFamiliesSpace, user)) {
      if (matchesFamily(JSON.parse(name) as RefreshFamily, filter, ids))
        writes.push({ kind: 'delete', space: refreshFamiliesSpace, id });
    }
    for (const isLast of [false, true])
      for (const { id, session } of sessions)
        if ((session.id === last) === isLast) writes.push({ kind: 'delete', space: sessionsSpace, id });
    if (record !== undefined && isBefore(record, filter.createdBefore))
      writes.push({ kind: 'delete', space: usersSpace, id: user, ifValue: record });
    return { writes, sessions: sessions.length };
  }

  /** Whoever has a session that matches, then whoever has tokens that do. */
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

  async *#itemsOf(from: typeof sessionsSpace | typeof refreshFamiliesSpace, user: string) {
    for await (const page of pagesOf(this.#engine, from, `${user}.`)) {
      for (const item of page) {
        if (userKeyOf(item.id) !== user) return;
        yield item;
      }
    }
  }
}

function isBefore(record: string, moment: number | undefined): boolean {
  return moment === undefined || Date.parse((JSON.parse(record) as StoredUser).lastSignInAt) < moment;
}
