import { hash } from 'node:crypto';
import { ServiceError } from '../errors.ts';
import { randomBytes } from '../random.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';
import { commitWritesMax } from '../storage/limits.ts';
import { type ApiKey, hashOf } from './api-key.ts';
import { audited } from './audit.ts';
import type { KeyRing } from './key-ring.ts';
import { consoleSessionMsMax } from './limits.ts';

/** A session of the console, as stored in `service:console-sessions` under the digest of its secret. */
interface StoredSession {
  readonly keyId: string;
  /** Of the key's secret that was exchanged: the session ends with it. */
  readonly keyHash: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface ConsoleSession {
  readonly key: ApiKey;
  /** What a page must send beside the cookie. Pages of other origins cannot read it. */
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface OpenedConsoleSession extends ConsoleSession {
  /** The secret, which only the browser has. */
  readonly cookie: string;
}

const space = 'service:console-sessions';
const secretPattern = /^[A-Za-z0-9_-]{43}$/;

/**
 * Exchanges API keys for sessions of the console, so that no page has to keep a key. A session can do what its key can, and
 * ends with it: when the key is revoked, expires, or loses the secret that was exchanged.
 */
export class ConsoleSessions {
  readonly #engine: Engine;
  readonly #keys: KeyRing;
  readonly #now: () => number;

  constructor(engine: Engine, keys: KeyRing, now: () => number) {
    this.#engine = engine;
    this.#keys = keys;
    this.#now = now;
  }

  /**
   * Opens a session with a new secret; durable when it resolves. The session that the browser had before ends. Rejects with
   * `unauthenticated` if the text is no valid key, and with `forbidden` if the key is publishable.
   */
  async signIn(
    text: string,
    cookieBefore: string | undefined,
    requestId: string,
  ): Promise<OpenedConsoleSession> {
    // Not the cached keys: the key may be new, or revoked a moment ago.
    await this.#keys.refresh();
    const key = this.#keys.find(text);
    if (key === undefined) throw invalidKey;
    if (key.kind === 'publishable') throw publishableKey;
    const cookie = randomBytes(32).toString('base64url');
    const expiresAt = this.#now() + consoleSessionMsMax;
    const stored: StoredSession = { keyId: key.id, keyHash: hashOf(text), expiresAt };
    await this.#end(cookieBefore, requestId);
    await this.#engine.commit([
      { kind: 'create', space, id: digestOf(cookie), value: JSON.stringify(stored), makeSpace: true },
      audited({ what: 'console.signed_in', on: key.id, by: `key:${key.id}`, requestId }, this.#now()),
    ]);
    return { key, token: tokenOf(cookie), expiresAt, cookie };
  }

  /** The session of a cookie; undefined if it never existed, or has ended. `KeyRing.isFresh` must be true. */
  async find(cookie: string | undefined): Promise<ConsoleSession | undefined> {
    const stored = await this.#read(cookie);
    if (cookie === undefined || stored === undefined) return undefined;
    const key = this.#keys.findByHash(stored.keyHash);
    return key === undefined ? undefined : { key, token: tokenOf(cookie), expiresAt: stored.expiresAt };
  }

  /** As `find`, and reads the keys first if the cached ones are too old. */
  async findFresh(cookie: string | undefined): Promise<ConsoleSession | undefined> {
    if (!this.#keys.isFresh(performance.now())) await this.#keys.refresh();
    return this.find(cookie);
  }

  /** Ends the session of a cookie, if there is one; durable when it resolves. */
  signOut(cookie: string, requestId: string): Promise<void> {
    return this.#end(cookie, requestId);
  }

  /**
   * Records a change that a person requests, before it is made, so that there is none without a record. @param on the method
   * and the path
   */
  async noteRequest({ id }: ApiKey, on: string, requestId: string): Promise<void> {
    const act = { what: 'console.requested', on, by: `key:${id}`, requestId } as const;
    await this.#engine.commit([audited(act, this.#now())]);
  }

  /** Removes expired sessions. */
  async sweep(): Promise<void> {
    const over: Write[] = [];
    const scan = await this.#engine.scan(space);
    for await (const { id, name } of itemsOf(scan?.chunks ?? [])) {
      if (over.length < commitWritesMax && this.#isOver(JSON.parse(name) as StoredSession))
        over.push({ kind: 'delete', space, id });
    }
    // A rejected commit means that another process is sweeping; the rest has time.
    if (over.length > 0) await this.#engine.commit(over);
  }

  async #end(cookie: string | undefined, requestId: string): Promise<void> {
    const stored = await this.#read(cookie);
    if (cookie === undefined || stored === undefined) return;
    const { keyId } = stored;
    // Rejected if it has ended meanwhile.
    await this.#engine.commit([
      { kind: 'delete', space, id: digestOf(cookie) },
      audited({ what: 'console.signed_out', on: keyId, by: `key:${keyId}`, requestId }, this.#now()),
    ]);
  }

  async #read(cookie: string | undefined): Promise<StoredSession | undefined> {
    if (cookie === undefined || !secretPattern.test(cookie)) return undefined;
    const text = await this.#engine.get(space, digestOf(cookie));
    const stored = text === undefined ? undefined : (JSON.parse(text) as StoredSession);
    return stored === undefined || this.#isOver(stored) ? undefined : stored;
  }

  #isOver({ expiresAt }: StoredSession): boolean {
    return this.#now() >= expiresAt;
  }
}

/** The store has only digests, so that its reader cannot use a session. */
function digestOf(cookie: string): string {
  return hash('sha256', cookie, 'base64url');
}

/** Derived from the secret, which no page can read, in a way that the store does not show. */
function tokenOf(cookie: string): string {
  return hash('sha256', `console token ${cookie}`, 'base64url');
}

/** The same for a malformed, unknown, wrong, revoked or expired key, as for a request with a key. */
const invalidKey = new ServiceError('unauthenticated', {
  param: 'key',
  message: 'The API key is not valid.',
});

const publishableKey = new ServiceError('forbidden', {
  param: 'key',
  message: 'A publishable key cannot sign in to the console; use a secret key (cfk_…).',
});
