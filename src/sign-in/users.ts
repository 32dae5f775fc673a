import { ServiceError } from '../errors.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';
import { accessEndingsSpace, deletionId } from './ending-markers.ts';
import type { User } from './types.ts';
import { type Identity, isUserKey, userKey } from './types.ts';

/** The record in `service:users`, under the user's key. */
export type StoredUser = Omit<User, 'id'>;

export interface UserPage {
  readonly users: readonly User[];
  /** The `after` of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

export const usersSpace = 'service:users';

/** The users who have signed in and are not deleted. The profile is that of the last sign-in. */
export class Users {
  readonly #engine: Engine;
  readonly #now: () => number;

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
    this.#now = now;
  }

  /** The write that records a sign-in. The engine rejects it if the user signs in elsewhere meanwhile; then call again. */
  async signedIn(identity: Identity): Promise<Write> {
    const id = userKey(identity);
    const lastSignInAt = new Date(this.#now()).toISOString();
    const ifValue = await this.#engine.get(usersSpace, id);
    // A user who signs in while their deletion is incomplete is a new user.
    const isNew =
      ifValue === undefined || (await this.#engine.get(accessEndingsSpace, deletionId(id))) !== undefined;
    const firstSignInAt = isNew ? lastSignInAt : (JSON.parse(ifValue) as StoredUser).firstSignInAt;
    const value = JSON.stringify({ ...identity, firstSignInAt, lastSignInAt } satisfies StoredUser);
    return ifValue === undefined
      ? { kind: 'create', space: usersSpace, id, value, makeSpace: true }
      : { kind: 'replace', space: usersSpace, id, value, ifValue };
  }

  /** Throws `user_not_found`. */
  async find(id: string): Promise<User> {
    const text = isUserKey(id) ? await this.#engine.get(usersSpace, id) : undefined;
    if (text === undefined) throw new ServiceError('user_not_found');
    return userOf(id, text);
  }

  /** Users ordered by id. @param after the `next` of the previous page */
  async list(limit: number, after?: string): Promise<UserPage> {
    // One extra item shows whether there is another page.
    const options = { limit: limit + 1, ...(after === undefined ? {} : { after }) };
    const scan = await this.#engine.scan(usersSpace, options);
    const users: User[] = [];
    for await (const { id, name } of itemsOf(scan?.chunks ?? [])) {
      if (users.length === limit) return { users, next: users.at(-1)?.id };
      users.push(userOf(id, name));
    }
    return { users, next: undefined };
  }
}

function userOf(id: string, text: string): User {
  return { id, ...(JSON.parse(text) as StoredUser) };
}
