import { type ActKind, audited, type Requester } from '../../audit/audit.ts';
import { defined } from '../../defined.ts';
import { invalidRequest } from '../../errors.ts';
import { subjectPattern } from '../../identity/provider.ts';
import { randomBytes } from '../../random.ts';
import type { Engine, Write } from '../../storage/engine.ts';
import { Records } from '../../storage/records.ts';
import { type Scope, scopes } from '../scopes.ts';

/** Administrators of the console: more than any service has. If two are added at once, there may be one more. */
const administratorsMax = 1_000;
const administratorNameCharactersMax = 100;
/** The same as for an integration. */
const issuerCharactersMax = 1_024;

/** A person who may sign in to the console, as stored in `service:administrators` under the id of the user. */
export interface Administrator {
  /** The id of the user. `sign-in/` computes it from issuer and subject. */
  readonly id: string;
  /** As in the ID token, character by character. */
  readonly issuer: string;
  readonly subject: string;
  /**
   * The registration of the integration by which the administrator signs in: its id, and `provider/name` for people.
   * Absent in older records, whose administrators cannot sign in until they are added again.
   */
  readonly registration?: { readonly id: string; readonly integration: string };
  readonly name?: string;
  readonly scopes: readonly Scope[];
  /**
   * A new value whenever the scopes or the registration change. A session of the console is bound to the value, and
   * ends when it changes.
   */
  readonly grant: string;
  readonly addedAt: string;
}

export type AdministratorRequest = Pick<Administrator, 'id' | 'issuer' | 'subject' | 'name' | 'scopes'> &
  Required<Pick<Administrator, 'registration'>>;

/**
 * Whether an administrator signs in with this registration. Issuer and subject alone prove too little, because the
 * holder of another client of the same issuer can collect sign-ins of its users.
 */
export function isBoundTo({ registration }: Pick<Administrator, 'registration'>, id: string): boolean {
  return registration !== undefined && registration.id === id;
}

/** An administrator as the command line shows it. */
export function publicAdministrator(administrator: Administrator) {
  const { id, issuer, subject, registration, name, scopes: allowed, addedAt } = administrator;
  const integration = registration?.integration ?? null;
  return { user: id, issuer, subject, integration, name: name ?? null, scopes: allowed, added_at: addedAt };
}

const namePattern = new RegExp(`^[^\\p{C}]{1,${administratorNameCharactersMax}}$`, 'u');
/** The issuer of sign-ins by GitHub. Its subjects are numbers, because a login name can pass to another user. */
const github = 'https://github.com';
const githubSubjectPattern = /^[1-9]\d*$/;

/** The administrators of the console. Each change is in one commit with its audit entry, and applies to the next request. */
export class Administrators {
  readonly #records: Records<Administrator>;
  readonly #now: () => number;

  constructor(engine: Engine, now: () => number) {
    this.#records = new Records(engine, 'administrators');
    this.#now = now;
  }

  /** Reads from the store each time, so that a removal applies at once in every process. */
  find(id: string): Promise<Administrator | undefined> {
    return this.#records.get(id);
  }

  /** Like `find`, with a write that makes the commit fail if the administrator is changed or removed meanwhile. */
  async findUnchanged(
    id: string,
  ): Promise<{ readonly administrator: Administrator; readonly isUnchanged: Write } | undefined> {
    const found = await this.#records.find(id);
    return found && { administrator: found.value, isUnchanged: this.#records.check(id, found) };
  }

  /** Whether a user may sign in to the console with a registration. */
  async isOne(id: string, registration: string): Promise<boolean> {
    const found = await this.find(id);
    return found !== undefined && isBoundTo(found, registration);
  }

  /** The registrations to which administrators are bound. A registration occurs once for each of its administrators. */
  async registrations(): Promise<readonly NonNullable<Administrator['registration']>[]> {
    return (await this.list()).flatMap(({ registration }) => registration ?? []);
  }

  /** All administrators, ordered by id. */
  list(): Promise<readonly Administrator[]> {
    return this.#read(undefined);
  }

  /**
   * Adds an administrator, or changes an administrator's scopes, registration and name; durable when it resolves. Other
   * scopes or another registration end the administrator's sessions of the console. Rejects with `invalid_request` if
   * the request is not well formed, or if there are `administratorsMax` already.
   */
  async add(request: AdministratorRequest, requester: Requester): Promise<Administrator> {
    check(request);
    const { value } = await this.#records.change(request.id, async (before) => {
      if (before === undefined) await this.#checkRoom();
      const after = this.#changed(before, request);
      if (before !== undefined && JSON.stringify(after) === JSON.stringify(before)) return undefined;
      const what = before === undefined ? 'administrator.added' : 'administrator.changed';
      return { value: after, also: [this.#audited(what, after, requester)] };
    });
    return value as Administrator;
  }

  /**
   * Removes an administrator, and ends their sessions of the console. Rejects with `invalid_request` if there is no
   * such administrator.
   */
  async remove(id: string, requester: Requester): Promise<Administrator> {
    let removed!: Administrator;
    await this.#records.change(id, (before) => {
      if (before === undefined) throw unknown;
      removed = before;
      return { value: undefined, also: [this.#audited('administrator.removed', before, requester)] };
    });
    return removed;
  }

  #audited(what: ActKind, { issuer, subject }: Administrator, requester: Requester): Write {
    return audited({ what, on: `${issuer} ${subject}`, ...requester }, this.#now());
  }

  #changed(before: Administrator | undefined, request: AdministratorRequest): Administrator {
    const { id, issuer, subject, registration, name, scopes: requested } = request;
    const allowed = scopes.filter((scope) => requested.includes(scope));
    const isSame =
      before !== undefined && before.scopes.join() === allowed.join() && isBoundTo(before, registration.id);
    return {
      id,
      issuer,
      subject,
      registration: { id: registration.id, integration: registration.integration },
      ...defined({ name }),
      scopes: allowed,
      grant: isSame ? before.grant : randomBytes(12).toString('hex'),
      addedAt: before?.addedAt ?? new Date(this.#now()).toISOString(),
    };
  }

  async #checkRoom(): Promise<void> {
    if ((await this.#read(administratorsMax)).length < administratorsMax) return;
    throw invalidRequest('subject', `There are ${administratorsMax} administrators already; remove one.`);
  }

  async #read(limit: number | undefined): Promise<Administrator[]> {
    const found: Administrator[] = [];
    for await (const { value } of this.#records.list(limit === undefined ? {} : { limit })) found.push(value);
    return found;
  }
}

function check({ issuer, subject, name, scopes: requested }: AdministratorRequest): void {
  if (issuer.length > issuerCharactersMax || !/^https?:\/\/[^\s\p{C}]+$/u.test(issuer))
    throw invalidRequest(
      'issuer',
      'issuer must be a URL as in the ID token, such as https://accounts.google.com.',
    );
  if (!subjectPattern.test(subject))
    throw invalidRequest(
      'subject',
      'subject must be 1 to 255 printable ASCII characters, as in the ID token.',
    );
  if (issuer === github && !githubSubjectPattern.test(subject))
    throw invalidRequest(
      'subject',
      'The subject of a user of GitHub is the number of their account, not its name.',
    );
  if (name !== undefined && !namePattern.test(name))
    throw invalidRequest('name', `name must be 1 to ${administratorNameCharactersMax} printable characters.`);
  if (requested.length === 0)
    throw invalidRequest('scope', `An administrator needs a scope: ${scopes.join(', ')}.`);
}

const unknown = invalidRequest('subject', 'There is no administrator with this issuer and subject.');
