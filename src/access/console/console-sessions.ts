import { type ActKind, audited } from '../../audit/audit.ts';
import { ServiceError } from '../../errors.ts';
import { digest, randomBytes } from '../../random.ts';
import type { Engine, Write } from '../../storage/engine.ts';
import { Records } from '../../storage/records.ts';
import type { Keys } from '../keys/keys.ts';
import { callerAs, callerWith, type KnownCaller, requesterFor } from '../permission.ts';
import { type Administrator, type Administrators, isBoundTo } from './administrators.ts';
import {
  type ConsoleSession,
  consoleSessionMsMax,
  deriveToken,
  type OfAdministrator,
  type OfKey,
  type OpenedConsoleSession,
  type ProvenSignIn,
  type SignedInPerson,
  type SignIns,
  type StoredConsoleSession,
} from './console-session.ts';

export interface ConsoleSessionsContext {
  readonly engine: Engine;
  /** In memory. */
  readonly keys: Keys['ring'];
  readonly administrators: Administrators;
  readonly signIns: SignIns;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const secretPattern = /^[A-Za-z0-9_-]{43}$/;

/**
 * Exchanges API keys and sign-ins of named administrators for sessions of the console, so that no page has to keep
 * either. A session can do what its key or administrator can. The session of a key ends when the key is revoked,
 * expires, or loses the secret that was exchanged. The session of an administrator ends when the administrator is
 * removed or gets other scopes, or when the sign-in ends.
 */
export class ConsoleSessions {
  readonly #context: ConsoleSessionsContext;
  readonly #engine: Engine;
  readonly #records: Records<StoredConsoleSession>;
  readonly #now: () => number;

  constructor(context: ConsoleSessionsContext) {
    this.#context = context;
    this.#engine = context.engine;
    this.#records = new Records(context.engine, 'console-sessions');
    this.#now = context.now;
  }

  /**
   * Opens a session with a new secret; durable when it resolves. The browser's previous session ends. Rejects with
   * `unauthenticated` if the text is not a valid key, and with `forbidden` if the key is publishable.
   */
  async signIn(
    text: string,
    cookieBefore: string | undefined,
    requestId: string,
  ): Promise<OpenedConsoleSession> {
    const { keys } = this.#context;
    // Reads the keys instead of using the cached ones, because the key may be new, or revoked a moment ago.
    await keys.refresh();
    const key = keys.find(text);
    if (key === undefined) throw invalidKey;
    if (key.kind === 'publishable') throw publishableKey;
    await this.#end(cookieBefore, requestId);
    const opened = this.#opened(callerWith(key));
    const stored: StoredConsoleSession = {
      keyId: key.id,
      keyHash: digest(text),
      expiresAt: opened.expiresAt,
    };
    await this.#engine.commit(this.#opening(opened, stored, requestId));
    return opened;
  }

  /**
   * Like `signIn`, for a named administrator. The sign-in cannot be used again. Rejects with `unauthenticated` if the
   * sign-in was used before or has ended, and with `forbidden` if the person is no longer an administrator.
   */
  async signInAs(
    proven: ProvenSignIn,
    cookieBefore: string | undefined,
    requestId: string,
  ): Promise<OpenedConsoleSession> {
    const { administrators, keys } = this.#context;
    const administrator = await administrators.find(proven.user);
    if (administrator === undefined || !isBoundTo(administrator, proven.registration)) throw noAdministrator;
    const { id, grant } = administrator;
    const opened = this.#opened(callerAs(withName(administrator, proven)));
    const { expiresAt } = opened;
    const stored: StoredConsoleSession = { administrator: id, grant, signIn: proven.id, expiresAt };
    const writes = [...this.#opening(opened, stored, requestId), proven.use(expiresAt)];
    if ((await this.#engine.commit(writes)) !== undefined) throw usedSignIn;
    if (!keys.isFresh(performance.now())) await keys.refresh();
    await this.#end(cookieBefore, requestId);
    return opened;
  }

  /** The session of a cookie; undefined if it never existed or has ended. `KeyRing.isFresh` must be true. */
  async find(cookie: string | undefined): Promise<ConsoleSession | undefined> {
    const stored = await this.#read(cookie);
    if (cookie === undefined || stored === undefined) return undefined;
    const caller = await this.#findCaller(stored);
    return caller === undefined
      ? undefined
      : { caller, token: deriveToken(cookie), expiresAt: stored.expiresAt };
  }

  /** Like `find`, but reads the keys first if the cached keys are too old. */
  async findFresh(cookie: string | undefined): Promise<ConsoleSession | undefined> {
    const { keys } = this.#context;
    if (!keys.isFresh(performance.now())) await keys.refresh();
    return this.find(cookie);
  }

  /** Ends the session of a cookie, if there is one; durable when it resolves. */
  signOut(cookie: string, requestId: string): Promise<void> {
    return this.#end(cookie, requestId);
  }

  /**
   * Records a change that an administrator requests, before the change is made, so that no change lacks a record.
   *
   * @param on the method and the path
   */
  async noteRequest(caller: KnownCaller, on: string, requestId: string): Promise<void> {
    await this.#engine.commit([this.#audited('console.requested', on, caller, requestId)]);
  }

  /** Removes expired sessions. */
  sweep(signal: AbortSignal): Promise<void> {
    return this.#records.sweep((stored) => this.#isOver(stored), signal);
  }

  #opened(caller: KnownCaller): OpenedConsoleSession {
    const cookie = randomBytes(32).toString('base64url');
    return { caller, cookie, token: deriveToken(cookie), expiresAt: this.#now() + consoleSessionMsMax };
  }

  #opening(
    { caller, cookie }: OpenedConsoleSession,
    stored: StoredConsoleSession,
    requestId: string,
  ): Write[] {
    return [
      this.#records.creation(digest(cookie), stored),
      this.#audited('console.signed_in', caller.id, caller, requestId),
    ];
  }

  #findCaller(stored: StoredConsoleSession): KnownCaller | undefined | Promise<KnownCaller | undefined> {
    return 'keyId' in stored ? this.#withKey(stored) : this.#asAdministrator(stored);
  }

  #withKey({ keyHash }: OfKey): KnownCaller | undefined {
    const key = this.#context.keys.findByHash(keyHash);
    return key === undefined ? undefined : callerWith(key);
  }

  async #asAdministrator(stored: OfAdministrator): Promise<KnownCaller | undefined> {
    const { administrators, signIns } = this.#context;
    const [administrator, person] = await Promise.all([
      administrators.find(stored.administrator),
      signIns.find(stored.signIn),
    ]);
    const hasEnded = administrator?.grant !== stored.grant || person?.user !== stored.administrator;
    if (administrator === undefined || person === undefined || hasEnded) return undefined;
    if (!isBoundTo(administrator, person.registration)) return undefined;
    return callerAs(withName(administrator, person));
  }

  async #end(cookie: string | undefined, requestId: string): Promise<void> {
    const stored = await this.#read(cookie);
    const caller = stored && (await this.#findCaller(stored));
    if (cookie === undefined || stored === undefined || caller === undefined) return;
    // The engine rejects the write if the sign-in has ended meanwhile.
    await this.#engine.commit([
      { kind: 'delete', space: this.#records.space, id: digest(cookie) },
      ...('keyId' in stored ? [] : [this.#context.signIns.end(stored.signIn)]),
      this.#audited('console.signed_out', caller.id, caller, requestId),
    ]);
  }

  #audited(what: ActKind, on: string, caller: KnownCaller, requestId: string): Write {
    return audited({ what, on, ...requesterFor(caller, requestId) }, this.#now());
  }

  async #read(cookie: string | undefined): Promise<StoredConsoleSession | undefined> {
    if (cookie === undefined || !secretPattern.test(cookie)) return undefined;
    const stored = await this.#records.get(digest(cookie));
    return stored === undefined || this.#isOver(stored) ? undefined : stored;
  }

  #isOver({ expiresAt }: StoredConsoleSession): boolean {
    return this.#now() >= expiresAt;
  }
}

/** The name that the operator has given, or else the name in the ID token. */
function withName(administrator: Administrator, { name }: SignedInPerson): Administrator {
  return name === undefined ? administrator : { name, ...administrator };
}

/** The same error for a malformed, unknown, wrong, revoked or expired key, as for a request with a key. */
const invalidKey = new ServiceError('unauthenticated', {
  param: 'key',
  message: 'The API key is not valid.',
});

const publishableKey = new ServiceError('forbidden', {
  param: 'key',
  message: 'A publishable key cannot sign in to the console; use a secret key (cfk_…).',
});

const usedSignIn = new ServiceError('unauthenticated', {
  message: 'This sign-in is over. Sign in again.',
});

const noAdministrator = new ServiceError('forbidden', {
  message: 'You are not an administrator of this service any more.',
});
