import type { Requester } from '../audit/audit.ts';
import { ServiceError } from '../errors.ts';
import type { Engine } from '../storage/engine.ts';
import { AccessEnding, type Ending } from './access-ending.ts';
import { type SessionPage, Sessions } from './sessions.ts';
import { type SessionFilter, type User, userKey } from './types.ts';
import { type UserPage, Users } from './users.ts';

interface PeopleParts {
  readonly users: Users;
  readonly sessions: Sessions;
  readonly accessEnding: AccessEnding;
}

/** The users who have signed in and their sessions, for an operator to see and to end. */
export class People {
  readonly #parts: PeopleParts;

  constructor(parts: PeopleParts) {
    this.#parts = parts;
  }

  /** @param now milliseconds since 1970 */
  static over(engine: Engine, now: () => number): People {
    return new People({
      users: new Users(engine, now),
      sessions: new Sessions(engine, now),
      accessEnding: new AccessEnding(engine, now),
    });
  }

  /** Throws `user_not_found`. */
  user(id: string): Promise<User> {
    return this.#parts.users.find(id);
  }

  /** Users ordered by id. @param after the `next` of the previous page */
  users(limit: number, after?: string): Promise<UserPage> {
    return this.#parts.users.list(limit, after);
  }

  /** Live sessions that match, ordered by user. @param after the `next` of the previous page */
  sessions(filter: SessionFilter, limit: number, after?: string): Promise<SessionPage> {
    return this.#parts.sessions.list(filter, limit, after);
  }

  /** Ends all access of a user and erases the profile; durable when it resolves. Throws `user_not_found`. */
  deleteUser(id: string, requester: Requester): Promise<void> {
    return this.#parts.accessEnding.deleteUser(id, requester);
  }

  /** Ends the session with this public id, and its tokens; durable when it resolves. Throws `session_not_found`. */
  async endSession(id: string, requester: Requester): Promise<void> {
    const { sessions, accessEnding } = this.#parts;
    const [session] = (await sessions.list({ session: id }, 1)).sessions;
    if (session === undefined) throw new ServiceError('session_not_found');
    await accessEnding.end({
      filter: { user: userKey(session.identity), session: id },
      act: { what: 'sessions.ended', on: id, ...requester },
    });
  }

  /** Ends the sessions that match, and their tokens; durable when it resolves. @returns how many sessions ended */
  endSessions(ending: Pick<Ending, 'filter' | 'act'>): Promise<number> {
    return this.#parts.accessEnding.end(ending);
  }

  /** Removes expired sessions. */
  sweepSessions(signal: AbortSignal): Promise<void> {
    return this.#parts.sessions.sweep(signal);
  }

  /** Finishes the endings of processes that have died. */
  recoverEndings(signal: AbortSignal): Promise<void> {
    return this.#parts.accessEnding.recover(signal);
  }

  /** Forgets endings that are older than any sign-in that is under way. */
  sweepEndings(signal: AbortSignal): Promise<void> {
    return this.#parts.accessEnding.recent.sweep(signal);
  }
}
