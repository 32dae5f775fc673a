import { setImmediate as turn } from 'node:timers/promises';
import type { Engine, Write } from '../storage/engine.ts';
import { type Item, itemsOf, pagesOf } from '../storage/item-text.ts';
import { commitWritesMax } from '../storage/limits.ts';
import { userKey } from './identity.ts';
import { sessionIdleMsMax, sessionMsMax, sessionSeenStepMs, sessionsKeptMax } from './limits.ts';
import { digestOf, randomText } from './random-text.ts';
import type { Session } from './session.ts';
import { matches, type SessionFilter } from './session-filter.ts';
import { userRecords } from './user-records.ts';

/** A session with the secret that opens it, which only the browser keeps. */
export interface OpenedSession {
  readonly session: Session;
  readonly cookie: string;
}

/** Who signs in, and what the session is bound to. */
export interface NewSession
  extends Pick<Session, 'identity' | 'registrationId' | 'providerSession' | 'stateDigest'> {
  /** What opens the session that the browser has so far. */
  readonly cookieBefore?: string | undefined;
}

export interface SessionPage {
  readonly sessions: readonly Session[];
  /** Where the next page goes on; undefined for the last one. */
  readonly next: string | undefined;
}

/** A session as it was read. */
interface FoundSession {
  readonly session: Session;
  readonly recordId: string;
  readonly text: string;
}

export const sessionsSpace = 'service:sessions';
const space = sessionsSpace;
/** `<user key>.<secret>` */
const cookiePattern = /^[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}$/;
const userKeyCharacters = 22;

/**
 * Who is signed in. A session lies in `service:sessions` under `<user key>.<digest of its secret>`: all of a user's lie
 * together, and the store opens none.
 */
export class Sessions {
  readonly #engine: Engine;
  readonly #now: () => number;
  /** By cookie; each holds as long as nothing in the space has changed. */
  readonly #kept = new Map<string, FoundSession & { readonly version: string }>();

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
    this.#now = now;
  }

  /**
   * Signs a user in; durable when it resolves. The secret is a new one each time (OWASP, Session Management, renew
   * the session id), and the one that the browser had before opens nothing any more. The same user in the same browser
   * keeps the public id, and with it what hangs on it.
   *
   * @param also what belongs to the session; asked for again when the engine refused one of these writes
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
      const isSameUser = before !== undefined && userKey(before.session.identity) === key;
      const id = isSameUser ? before.session.id : `ses_${randomText().slice(0, 22)}`;
      const session: Session = { id, ...begun, createdAt: now, lastSeenAt: now };
      const value = JSON.stringify(session);
      const made: Write = { kind: 'create', space, id: recordId(cookie), value, makeSpace: true };
      const ended: Write[] = before === undefined ? [] : [{ kind: 'delete', space, id: before.recordId }];
      const refusal = await this.#engine.commit([made, ...ended, ...(await also(session))]);
      if (refusal === undefined) return { session, cookie };
      if (refusal.write === 0) throw new Error('two sessions are the same');
      // The one before has ended by itself, or the user has signed in elsewhere: look again.
    }
  }

  /**
   * The session that a cookie opens; undefined for one that never was, has ended or was left alone too long. The same
   * object as the last time where nothing of it has changed.
   */
  async find(cookie: string): Promise<Session | undefined> {
    const found = await this.#look(cookie);
    if (found === undefined) return undefined;
    const now = this.#now();
    if (now - found.session.lastSeenAt < sessionSeenStepMs) return found.session;
    const session = { ...found.session, lastSeenAt: now };
    const { recordId: id, text: ifValue } = found;
    // Not made anew where it has ended meanwhile; and a store that takes no writes signs nobody out.
    const write: Write = { kind: 'replace', space, id, value: JSON.stringify(session), ifValue };
    await this.#engine.commit([write]).catch(() => undefined);
    return session;
  }

  /** A page of the sessions that live and match, in an order of its own. @param after what `next` of the page before said */
  async list(filter: SessionFilter, limit: number, after?: string): Promise<SessionPage> {
    const sessions: Session[] = [];
    let last: string | undefined;
    for await (const { id, name } of this.#records(filter.user, after)) {
      const session = JSON.parse(name) as Session;
      if (this.#isOver(session) || !matches(session, filter)) continue;
      if (sessions.length === limit) return { sessions, next: last };
      sessions.push(session);
      last = id;
    }
    return { sessions, next: undefined };
  }

  /** Removes what has ended by itself. */
  async sweep(signal: AbortSignal): Promise<void> {
    let after: string | undefined;
    do {
      const scan = await this.#engine.scan(space, {
        limit: commitWritesMax,
        ...(after === undefined ? {} : { after }),
      });
      const items: Item[] = [];
      for await (const item of itemsOf(scan?.chunks ?? [])) items.push(item);
      const over = items.filter(({ name }) => this.#isOver(JSON.parse(name) as Session));
      if (over.length > 0) await this.#delete(over.map(({ id }) => id));
      after = items.length === commitWritesMax ? items.at(-1)?.id : undefined;
      // Requests have their turn between the pages.
      await turn();
    } while (after !== undefined && !signal.aborted);
  }

  async *#records(user: string | undefined, after: string | undefined): AsyncGenerator<Item> {
    if (user !== undefined) yield* userRecords(this.#engine, space, user, after);
    else
      for await (const page of pagesOf(this.#engine, space, after)) {
        yield* page;
        // Requests have their turn between the pages.
        await turn();
      }
  }

  /** At most `commitWritesMax`; one that is gone already does not keep the others. */
  async #delete(ids: readonly string[]): Promise<void> {
    const write = (id: string): Write => ({ kind: 'delete', space, id });
    if ((await this.#engine.commit(ids.map(write))) === undefined) return;
    for (const id of ids) await this.#engine.commit([write(id)]);
  }

  /** What is kept where nothing has changed, whichever process would have changed it; else what is read. */
  async #look(cookie: string): Promise<FoundSession | undefined> {
    const version = (await this.#engine.describe(space))?.version;
    const kept = this.#kept.get(cookie);
    if (kept !== undefined && kept.version === version) return this.#isOver(kept.session) ? undefined : kept;
    const found = await this.#read(cookie);
    this.#kept.delete(cookie);
    // An engine that does not tell of changes is asked each time.
    if (found === undefined || version === undefined) return found;
    if (this.#kept.size >= sessionsKeptMax) this.#kept.clear();
    const isSame = kept?.text === found.text;
    this.#kept.set(cookie, { ...found, ...(isSame ? { session: kept.session } : {}), version });
    return isSame ? kept : found;
  }

  async #read(cookie: string): Promise<FoundSession | undefined> {
    if (!cookiePattern.test(cookie)) return undefined;
    const id = recordId(cookie);
    const text = await this.#engine.get(space, id);
    if (text === undefined) return undefined;
    const session = JSON.parse(text) as Session;
    return this.#isOver(session) ? undefined : { session, recordId: id, text };
  }

  #isOver({ createdAt, lastSeenAt }: Session): boolean {
    const now = this.#now();
    return now - createdAt > sessionMsMax || now - lastSeenAt > sessionIdleMsMax;
  }
}

function recordId(cookie: string): string {
  return `${cookie.slice(0, userKeyCharacters)}.${digestOf(cookie.slice(userKeyCharacters + 1))}`;
}
