import { ServiceError } from '../errors.ts';
import { randomBytes } from '../random.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';
import { type ActKind, audited, type Requester } from './audit.ts';
import {
  administratorNameCharactersMax,
  administratorsMax,
  issuerCharactersMax,
  subjectCharactersMax,
} from './limits.ts';
import { type Scope, scopes } from './scopes.ts';

/** A person who may sign in to the console, as stored in `service:administrators` under the id of the user. */
export interface Administrator {
  /** The id of the user that issuer and subject identify; `sign-in/` makes it of the two. */
  readonly id: string;
  /** As in the ID token, character by character. */
  readonly issuer: string;
  readonly subject: string;
  readonly name?: string;
  readonly scopes: readonly Scope[];
  /** New whenever the scopes change: a session of the console is bound to one, and ends with it. */
  readonly grant: string;
  readonly addedAt: string;
}

export type AdministratorRequest = Pick<Administrator, 'id' | 'issuer' | 'subject' | 'name' | 'scopes'>;

/** An administrator as the command line shows one. */
export function publicAdministrator({ id, issuer, subject, name, scopes: allowed, addedAt }: Administrator) {
  return { user: id, issuer, subject, name: name ?? null, scopes: allowed, added_at: addedAt };
}

const space = 'service:administrators';
const namePattern = new RegExp(`^[^\\p{C}]{1,${administratorNameCharactersMax}}$`, 'u');
const subjectPattern = new RegExp(`^[^\\p{C}]{1,${subjectCharactersMax}}$`, 'u');

/** The administrators of the console. Each change is in one commit with its audit entry, and applies to the next request. */
export class Administrators {
  readonly #engine: Engine;
  readonly #now: () => number;

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
    this.#now = now;
  }

  /** Read from the store each time, so that a removal applies at once in every process. */
  async find(id: string): Promise<Administrator | undefined> {
    const text = await this.#engine.get(space, id);
    return text === undefined ? undefined : (JSON.parse(text) as Administrator);
  }

  /** As `find`, with the write that rejects a commit if the administrator is changed or removed meanwhile. */
  async findUnchanged(
    id: string,
  ): Promise<{ readonly administrator: Administrator; readonly isUnchanged: Write } | undefined> {
    const text = await this.#engine.get(space, id);
    if (text === undefined) return undefined;
    const isUnchanged = { kind: 'check', space, id, ifValue: text } as const;
    return { administrator: JSON.parse(text) as Administrator, isUnchanged };
  }

  async areAny(): Promise<boolean> {
    return (await this.#read(1)).length > 0;
  }

  /** All of them, ordered by id. */
  list(): Promise<readonly Administrator[]> {
    return this.#read(undefined);
  }

  /**
   * Adds an administrator, or changes the scopes and the name of one; durable when it resolves. Other scopes end the sessions
   * of the console that the administrator has. Rejects with `invalid_request` if the request is not well formed, or if there
   * are `administratorsMax`.
   */
  async add(request: AdministratorRequest, requester: Requester): Promise<Administrator> {
    check(request);
    for (;;) {
      const text = await this.#engine.get(space, request.id);
      const before = text === undefined ? undefined : (JSON.parse(text) as Administrator);
      if (before === undefined) await this.#checkRoom();
      const after = this.#changed(before, request);
      const value = JSON.stringify(after);
      if (value === text) return after;
      const write: Write =
        text === undefined
          ? { kind: 'create', space, id: after.id, value, makeSpace: true }
          : { kind: 'replace', space, id: after.id, value, ifValue: text };
      const what = before === undefined ? 'administrator.added' : 'administrator.changed';
      if ((await this.#commit(write, what, after, requester)) === undefined) return after;
      // Somebody else has changed the record meanwhile: read again.
    }
  }

  /** Removes an administrator, and so ends their sessions of the console. Rejects with `invalid_request` if there is none. */
  async remove(id: string, requester: Requester): Promise<Administrator> {
    const administrator = await this.find(id);
    if (administrator === undefined) throw unknown;
    const write: Write = { kind: 'delete', space, id };
    if ((await this.#commit(write, 'administrator.removed', administrator, requester)) !== undefined)
      throw unknown;
    return administrator;
  }

  #commit(write: Write, what: ActKind, { issuer, subject }: Administrator, requester: Requester) {
    const act = audited({ what, on: `${issuer} ${subject}`, ...requester }, this.#now());
    return this.#engine.commit([write, act]);
  }

  #changed(before: Administrator | undefined, request: AdministratorRequest): Administrator {
    const { id, issuer, subject, name, scopes: requested } = request;
    const allowed = scopes.filter((scope) => requested.includes(scope));
    const isSame = before !== undefined && before.scopes.join() === allowed.join();
    return {
      id,
      issuer,
      subject,
      ...(name === undefined ? {} : { name }),
      scopes: allowed,
      grant: isSame ? before.grant : randomBytes(12).toString('hex'),
      addedAt: before?.addedAt ?? new Date(this.#now()).toISOString(),
    };
  }

  async #checkRoom(): Promise<void> {
    if ((await this.#read(administratorsMax)).length < administratorsMax) return;
    throw invalid('subject', `There are ${administratorsMax} administrators already; remove one.`);
  }

  async #read(limit: number | undefined): Promise<Administrator[]> {
    const scan = await this.#engine.scan(space, limit === undefined ? {} : { limit });
    const found: Administrator[] = [];
    for await (const { name } of itemsOf(scan?.chunks ?? [])) found.push(JSON.parse(name) as Administrator);
    return found;
  }
}

function check({ issuer, subject, name, scopes: requested }: AdministratorRequest): void {
  if (issuer.length > issuerCharactersMax || !/^https?:\/\/[^\s\p{C}]+$/u.test(issuer))
    throw invalid('issuer', 'issuer must be a URL as in the ID token, such as https://accounts.google.com.');
  if (!subjectPattern.test(subject))
    throw invalid('subject', `subject must be 1 to ${subjectCharactersMax} printable characters.`);
  if (name !== undefined && !namePattern.test(name))
    throw invalid('name', `name must be 1 to ${administratorNameCharactersMax} printable characters.`);
  if (requested.length === 0) throw invalid('scope', `An administrator needs a scope: ${scopes.join(', ')}.`);
}

function invalid(param: string, message: string): ServiceError {
  return new ServiceError('invalid_request', { param, message });
}

const unknown = invalid('subject', 'There is no administrator with this issuer and subject.');
