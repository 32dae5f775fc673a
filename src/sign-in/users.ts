import { ServiceError } from '../errors.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';
import { accessEndingsSpace, deletionId } from './ending-markers.ts';
import { type Identity, isUserKey, userKey } from './identity.ts';

/** Who has signed in, known by issuer and subject. */
export interface User extends Identity {
  /** As access tokens name the user in `sub`: 22 characters. */
  readonly id: string;
  /** RFC 3339. */
  readonly firstSignInAt: string;
  readonly lastSignInAt: string;
}

/** As it lies in `service:users`, under the user's key. */
export type StoredUser = Omit<User, 'id'>;

export interface UserPage {
  readonly users: readonly User[];
  /** The id to go on after, where there are more. */
  readonly next: string | undefined;
}

export const usersSpace = 'service:users';

/** Everybody who has signed in and was not deleted. The profile is that of the last sign-in. */
export class Users {
  readonly #engine: Engine;
  readonly #now: () => number;

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
    this.#now = now;
  }

  /** The write that notes a sign-in. The engine refuses it when the user signs in elsewhere meanwhile: then ask anew. */
  async signedIn(identity: Identity): Promise<Write> {
    const id = userKey(identity);
    const lastSignInAt = new Date(this.#now()).toISOString();
    const ifValue = await this.#engine.get(usersSpace, id);
    // Whoever signs in while a deletion is still to be completed is a new user.
    const isNew =
      ifValue === undefined || (await this.#engine.get(accessEndingsSpace, deletionId(id))) !== undefined;
    const firstSignInAt = isNew ? lastSignInAt : (JSON.parse(ifValue) as StoredUser).firstSignInAt;
    const value = JSON.stringify({ ...identity, firstSignInAt, lastSignInAt } satisfies StoredUser);
    return ifValue === undefined
      ? { kind: 'create', space: usersSpace, id, value, makeSpace: true }
      : { kind: 'replace', space: usersSpace, id, value, ifValue };
  }

  /** Refuses with `user_not_found`. */
  async find(id: string): Promise<User> {
    const text = isUserKey(id) ? await this.#engine.get(usersSpace, id) : undefined;
    if (text === undefined) throw new ServiceError('user_not_found');
    return userOf(id, text);
  }

  /** Users in the order of their ids. @param limit at most so many @param after only those behind this id */
  async list(limit: number, after?: string): Promise<UserPage> {
    // One more than is asked for tells whether there are more.
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
