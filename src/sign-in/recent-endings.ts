import { digest } from '../random.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { Records } from '../storage/records.ts';
import { endingsRememberedMax, endingsRememberedMs, signInMsMax } from './limits.ts';
import { type Filtered, meets } from './session-filter.ts';
import { SignInError } from './sign-in-error.ts';
import { type SessionFilter, userKey } from './types.ts';

/** An ending of access, as remembered in `service:recent-endings` for those sign-ins that were under way. */
interface RecentEnding {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly filter: SessionFilter;
}

/**
 * Remembers who was signed out, for as long as a sign-in may take. A sign-in that began before an ending must not open a session
 * after it: its commit checks that no ending was added to the records of its user and of its session at the provider.
 *
 * An ending that names neither (an operator ends the sessions of an integration, or old ones) is not remembered: it ends the
 * sessions that there are.
 */
export class RecentEndings {
  readonly #records: Records<readonly RecentEnding[]>;
  readonly #now: () => number;

  constructor(engine: Engine, now: () => number) {
    this.#records = new Records(engine, 'recent-endings');
    this.#now = now;
  }

  /**
   * The write that remembers an ending; commit it with the ending. The engine rejects it if another ending of the same user or
   * session was added meanwhile; then call again. Undefined if no sign-in that is under way is meant.
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
   * The checks of the commit that opens a session. The engine rejects them if access ended meanwhile; then call again.
   * Throws SignInError with the reason `ended` if it has ended since the sign-in began.
   *
   * @param begunAt when the sign-in began, in milliseconds since 1970
   */
  async checks(signIn: Filtered, begunAt: number): Promise<readonly Write[]> {
    const now = this.#now();
    const checks: Write[] = [];
    for (const id of keysOfSignIn(signIn)) {
      const endings = await this.#records.find(id);
      const isOver = ({ at, filter }: RecentEnding) =>
        // A clock that was ahead must not keep anybody out for longer than a sign-in may take.
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
  /** Selects everybody who may have this key. */
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

/** The oldest of too many become one that means everybody with the key: their sign-ins under way must begin again. */
function bounded(endings: readonly RecentEnding[], everybody: SessionFilter): readonly RecentEnding[] {
  if (endings.length <= endingsRememberedMax) return endings;
  const merged = endings.slice(0, endings.length - endingsRememberedMax + 1);
  const at = Math.max(...merged.map((ending) => ending.at));
  return [{ at, filter: everybody }, ...endings.slice(merged.length)];
}

function isRecent(at: number, now: number): boolean {
  return Math.abs(now - at) < endingsRememberedMs;
}
