import { setImmediate as turn } from 'node:timers/promises';
import type { Engine, Space, Write } from '../storage/engine.ts';
import { pagesOf } from '../storage/item-text.ts';
import { endingsRememberedMax, endingsRememberedMs, signInMsMax } from './limits.ts';
import { digestOf } from './random-text.ts';
import { type Filtered, meets } from './session-filter.ts';
import { SignInError } from './sign-in-error.ts';
import type { SessionFilter } from './types.ts';
import { userKey } from './types.ts';

/** An ending of access, as remembered in `service:recent-endings` for those sign-ins that were under way. */
interface RecentEnding {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly filter: SessionFilter;
}

const space: Space = 'service:recent-endings';

/**
 * Remembers who was signed out, for as long as a sign-in may take. A sign-in that began before an ending must not open a session
 * after it: its commit checks that no ending was added to the records of its user and of its session at the provider.
 *
 * An ending that names neither (an operator ends the sessions of an integration, or old ones) is not remembered: it ends the
 * sessions that there are.
 */
export class RecentEndings {
  readonly #engine: Engine;
  readonly #now: () => number;

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
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
    const ifValue = await this.#engine.get(space, key.id);
    const now = this.#now();
    const before = ifValue === undefined ? [] : endingsIn(ifValue).filter(({ at }) => isRecent(at, now));
    const value = JSON.stringify(bounded([...before, { at: now, filter }], key.filter));
    return ifValue === undefined
      ? { kind: 'create', space, id: key.id, value, makeSpace: true }
      : { kind: 'replace', space, id: key.id, value, ifValue };
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
      const text = await this.#engine.get(space, id);
      const isOver = ({ at, filter }: RecentEnding) =>
        // A clock that was ahead must not keep anybody out for longer than a sign-in may take.
        at >= begunAt && at <= now + signInMsMax && meets(signIn, filter);
      if (text !== undefined && endingsIn(text).some(isOver)) throw new SignInError('ended');
      checks.push({ kind: 'check', space, id, ifValue: text ?? null });
    }
    return checks;
  }

  /** Forgets endings that are older than any sign-in. */
  async sweep(signal: AbortSignal): Promise<void> {
    for await (const page of pagesOf(this.#engine, space)) {
      for (const { id, name } of page) {
        if (signal.aborted) return;
        if (endingsIn(name).some(({ at }) => isRecent(at, this.#now()))) continue;
        // Rejected if another ending was added meanwhile.
        await this.#engine.commit([{ kind: 'delete', space, id, ifValue: name }]);
      }
      // Requests run between the pages.
      await turn();
    }
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
  return `provider-session.${digestOf(id)}`;
}

/** The oldest of too many become one that means everybody with the key: their sign-ins under way must begin again. */
function bounded(endings: readonly RecentEnding[], everybody: SessionFilter): readonly RecentEnding[] {
  if (endings.length <= endingsRememberedMax) return endings;
  const merged = endings.slice(0, endings.length - endingsRememberedMax + 1);
  const at = Math.max(...merged.map((ending) => ending.at));
  return [{ at, filter: everybody }, ...endings.slice(merged.length)];
}

function endingsIn(text: string): readonly RecentEnding[] {
  return JSON.parse(text) as readonly RecentEnding[];
}

function isRecent(at: number, now: number): boolean {
  return Math.abs(now - at) < endingsRememberedMs;
}
