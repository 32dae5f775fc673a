import { setImmediate as turn } from 'node:timers/promises';
import {
  commitWritesMax,
  sessionIdleMsMax,
  sessionMsMax,
  sessionSeenStepMs,
  sessionsKeptMax,
} from '../limits.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { type Item, itemsOf } from '../storage/item-text.ts';
import { type Identity, userKey } from './identity.ts';
import { digestOf, randomText } from './random-text.ts';

/** A browser in which somebody is signed in. */
export interface Session {
  /** Public: it names the session in records and answers, and opens nothing. */
  readonly id: string;
  readonly identity: Identity;
  /** The registration by which the user signed in; absent in sessions of before there were any. */
  readonly registrationId?: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** To the exactness of `sessionSeenStepMs`. */
  readonly lastSeenAt: number;
}

/** A session with the secret that opens it, which only the browser keeps. */
export interface OpenedSession {
  readonly session: Session;
  readonly cookie: string;
}

/** A session as it was read. */
interface FoundSession {
  readonly session: Session;
  readonly recordId: string;
  readonly text: string;
}

const space = 'service:sessions';
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
   */
  async begin(
    identity: Identity,
    cookieBefore: string | undefined,
    registrationId?: string,
  ): Promise<OpenedSession> {
    const before = cookieBefore === undefined ? undefined : await this.#read(cookieBefore);
    const key = userKey(identity);
    const isSameUser = before !== undefined && userKey(before.session.identity) === key;
    const now = this.#now();
    const id = isSameUser ? before.session.id : `ses_${randomText().slice(0, 22)}`;
    const bound = registrationId === undefined ? {} : { registrationId };
    const session: Session = { id, identity, ...bound, createdAt: now, lastSeenAt: now };
    const cookie = `${key}.${randomText()}`;
    const value = JSON.stringify(session);
    const made: Write = { kind: 'create', space, id: recordId(cookie), value, makeSpace: true };
    const ended: Write[] = before === undefined ? [] : [{ kind: 'delete', space, id: before.recordId }];
    let refusal = await this.#engine.commit([made, ...ended]);
    // The one before has ended meanwhile by itself.
    if (refusal !== undefined && refusal.write > 0) refusal = await this.#engine.commit([made]);
    if (refusal !== undefined) throw new Error('two sessions are the same');
    return { session, cookie };
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

  /** Ends the session of a cookie. @returns what it was, or undefined where there was none */
  async end(cookie: string): Promise<Session | undefined> {
    const found = await this.#read(cookie);
    if (found === undefined) return undefined;
    await this.#engine.commit([{ kind: 'delete', space, id: found.recordId }]);
    return found.session;
  }

  /** Ends all sessions of a user that there are now, but the one that a cookie opens. @returns their ids */
  async endOthers(key: string, cookie: string): Promise<ReadonlySet<string>> {
    const own = recordId(cookie);
    const ended = new Set<string>();
    for (let after: string | undefined = `${key}.`; after !== undefined; ) {
      const ids: string[] = [];
      const scan = await this.#engine.scan(space, { after, limit: commitWritesMax });
      for await (const { id, name } of itemsOf(scan?.chunks ?? [])) {
        if (!id.startsWith(`${key}.`)) break;
        ids.push(id);
        if (id !== own) ended.add((JSON.parse(name) as Session).id);
      }
      after = ids.length === commitWritesMax ? ids.at(-1) : undefined;
      const others = ids.filter((id) => id !== own);
      if (others.length > 0) await this.#delete(others);
    }
    return ended;
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
