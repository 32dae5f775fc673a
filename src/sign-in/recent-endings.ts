import { digest } from '../random.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { Records } from '../storage/records.ts';
import { endingsRememberedMax, endingsRememberedMs, signInMsMax } from './limits.ts';
import { type Filtered, meets } from './sessions.ts';
import { SignInError } from './sign-in-error.ts';
import { type SessionFilter, userKey } from './types.ts';

/** An ending of access. It is remembered in `service:recent-endings` for sign-ins that were under way. */
interface RecentEnding {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly filter: SessionFilter;
}

/**
 * Remembers who was signed out, for as long as a sign-in may take. A sign-in that began before an ending must not open
 * a session after it. So its commit checks that no ending was added to the records of its user and of its session at
 * the provider.
 *
 * An ending that names neither is not remembered, for instance when an operator ends the sessions of an integration, or
 * old sessions. It ends only the sessions that exist.
 */
export class RecentEndings {
  readonly #records: Records<readonly RecentEnding[]>;
  readonly #now: () => number;

  constructor(engine: Engine, now: () => number) {
    this.#records = new Records(engine, 'recent-endings');
    this.#now = now;
  }

  /**
   * The write that remembers an ending; commit it with the ending. The engine rejects it if another ending of the same
   * user or session was added meanwhile; then call again. Undefined if the ending does not concern sign-ins under way.
   */
  async addition(filter: SessionFilter): Promise<Write | undefined> {
    const key = keyOfEnding(filter);
    if (key === undefined || filter.session !== undefined || filter.createdBefore !== undefined)
      return undefined;
    const before = await this.#records.find(key.id);
    const now = this.#now();
    const kept = before === undefined ? [] : before.value.filter(({ at }) => isRecent(at, now));
    return this.#records.saving(key.id, before, bounded([...kept, { at: now, filter }], key.filter));
  }

  /**
   * The checks for the commit that opens a session. The engine rejects them if access ended meanwhile; then call again.
   * Throws SignInError with the reason `ended` if access has ended since the sign-in began.
   *
   * @param begunAt when the sign-in began, in milliseconds since 1970
   */
  async checks(signIn: Filtered, begunAt: number): Promise<readonly Write[]> {
    const now = this.#now();
    const checks: Write[] = [];
    for (const id of keysOfSignIn(signIn)) {
      const endings = await this.#records.find(id);
      const isOver = ({ at, filter }: RecentEnding) =>
        // An ending by a clock that was ahead must not block sign-ins for longer than a sign-in may take.
        at >= begunAt && at <= now + signInMsMax && meets(signIn, filter);
      if (endings?.value.some(isOver)) throw new SignInError('ended');
      checks.push(this.#records.check(id, endings));
    }
    return checks;
  }

  /** Forgets endings that are older than any sign-in. */
  sweep(signal: AbortSignal): Promise<void> {
    const now = this.#now();
    return this.#records.sweep((endings) => !endings.some(({ at }) => isRecent(at, now)), signal);
  }
}

interface Key {
  readonly id: string;
  /** Selects everybody to whom the key applies. */
  readonly filter: SessionFilter;
}

function keyOfEnding({ user, providerSession }: SessionFilter): Key | undefined {
  if (user !== undefined) return { id: userId(user), filter: { user } };
  if (providerSession === undefined) return undefined;
  return { id: providerSessionId(providerSession), filter: { providerSession } };
}

function keysOfSignIn({ identity, providerSession }: Filtered): readonly string[] {
  const user = userId(userKey(identity));
  return providerSession === undefined ? [user] : [user, providerSessionId(providerSession)];
}

function userId(user: string): string {
  return `user.${user}`;
}

function providerSessionId(id: string): string {
  return `provider-session.${digest(id)}`;
}

/**
 * If there are too many endings, merges the oldest into one for everybody to whom the key applies. Their sign-ins under
 * way must begin again.
 */
function bounded(endings: readonly RecentEnding[], everybody: SessionFilter): readonly RecentEnding[] {
  if (endings.length <= endingsRememberedMax) return endings;
  const merged = endings.slice(0, endings.length - endingsRememberedMax + 1);
  const at = Math.max(...merged.map((ending) => ending.at));
  return [{ at, filter: everybody }, ...endings.slice(merged.length)];
}

function isRecent(at: number, now: number): boolean {
  return Math.abs(now - at) < endingsRememberedMs;
}
