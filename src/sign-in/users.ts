import { defined } from '../defined.ts';
import { ServiceError } from '../errors.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { Records } from '../storage/records.ts';
import { deletionId } from './ending-markers.ts';
import { type Identity, isUserKey, type User, userKey } from './types.ts';

/** The record in `service:users`, under the user's key. */
export type StoredUser = Omit<User, 'id'>;

export interface UserPage {
  readonly users: readonly User[];
  /** The `after` of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

export function userProfiles(engine: Engine): Records<StoredUser> {
  return new Records(engine, 'users');
}

/** The users who have signed in and are not deleted, with the profile of the last sign-in. */
export class Users {
  readonly #engine: Engine;
  readonly #records: Records<StoredUser>;
  readonly #now: () => number;

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
    this.#records = userProfiles(engine);
    this.#now = now;
  }

  /** The write that records a sign-in. The engine rejects it if the user signs in elsewhere meanwhile; then call again. */
  async signedIn(identity: Identity): Promise<Write> {
    const id = userKey(identity);
    const lastSignInAt = new Date(this.#now()).toISOString();
    const before = await this.#records.find(id);
    // A user who signs in while their deletion is incomplete is a new user.
    const isNew =
      before === undefined ||
      (await this.#engine.get('service:access-endings', deletionId(id))) !== undefined;
    const firstSignInAt = isNew ? lastSignInAt : before.value.firstSignInAt;
    return this.#records.saving(id, before, { ...identity, firstSignInAt, lastSignInAt });
  }

  /** Throws `user_not_found`. */
  async find(id: string): Promise<User> {
    const stored = isUserKey(id) ? await this.#records.get(id) : undefined;
    if (stored === undefined) throw new ServiceError('user_not_found');
    return { id, ...stored };
  }

  /** Users ordered by id. @param after the `next` of the previous page */
  async list(limit: number, after?: string): Promise<UserPage> {
    // One extra item shows whether there is another page.
    const options = { limit: limit + 1, ...defined({ after }) };
    const users: User[] = [];
    for await (const { id, value } of this.#records.list(options)) {
      if (users.length === limit) return { users, next: users.at(-1)?.id };
      users.push({ id, ...value });
    }
    return { users, next: undefined };
  }
}
