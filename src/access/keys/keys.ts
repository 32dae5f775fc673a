import { ServiceError } from '../../errors.ts';
import type { Engine, Write } from '../../storage/engine.ts';
import type { Administrators } from '../console/administrators.ts';
import { administratorId, type Caller, requesterFor } from '../permission.ts';
import {
  type ApiKey,
  type CreateKeyRequest,
  hasEnded,
  keyOfSecret,
  type ListedKey,
  type ShownKey,
} from './api-key.ts';
import { ApiKeys } from './api-keys.ts';
import { KeyRing } from './key-ring.ts';
import { lastUse } from './key-store.ts';
import {
  firstEscalation,
  firstEscalationOfRights,
  type KeyPart,
  type Rights,
  type Term,
} from './privilege-escalation.ts';

/**
 * How the first key is made. HTTP cannot make it, because the sender of the first request would own the service. Behind
 * a proxy that adds no header, a stranger looks like a program on this machine.
 */
export const makeFirstKey =
  'Make the first key on the machine of the service with "npx counterfoil keys create --name admin --scope admin".';

/** The caller that requests a change of the keys, and the id of the request. */
export interface KeyRequester {
  readonly caller: Caller;
  readonly requestId: string;
}

export interface Rotation {
  /** How long the present secret stays valid; 0 ends it at once. */
  readonly overlapMs: number;
  /** Whether to end the previous secret of an earlier rotation, if it is still valid. */
  readonly endsPrevious: boolean;
}

/** The rights that a caller may give to a key. */
interface Holder {
  /** The rights of the caller's key, as its secret has it, or of the administrator. */
  readonly term: Term;
  /** Whether a rotation has replaced the secret that the caller sent. */
  readonly isReplaced: boolean;
  /** Further conditions for the commit. */
  readonly conditions: readonly Write[];
}

/** The API keys for commands of the operator, which check no caller. */
export function operatorKeys(engine: Engine): ApiKeys {
  return new ApiKeys(engine, 'cli');
}

/**
 * The API keys of a service. `ring` authorizes requests. The methods change keys for callers of the HTTP interface, and
 * no caller can exceed its own rights. A caller creates, rotates and revokes only keys whose scopes, tables, routes and
 * end its own key covers, or its scopes as an administrator. The caller's key or administrator is read again with the
 * keys that change, so that it changes nothing if it is revoked or removed at the same moment. This process knows a
 * change before the method resolves.
 */
export class Keys {
  /** The keys in memory. Call its `refresh()` before the first request. */
  readonly ring: KeyRing;
  readonly #engine: Engine;
  readonly #administrators: Pick<Administrators, 'findUnchanged'>;
  readonly #now: () => number;

  constructor(
    engine: Engine,
    administrators: Pick<Administrators, 'findUnchanged'>,
    now: () => number,
    ring = new KeyRing(engine, now),
  ) {
    this.ring = ring;
    this.#engine = engine;
    this.#administrators = administrators;
    this.#now = now;
  }

  /** Like `ApiKeys.page`. */
  page(
    limit: number,
    after?: string,
    createdBy?: string,
  ): Promise<{ keys: ListedKey[]; next: string | undefined }> {
    return new ApiKeys(this.#engine, 'service', this.#now).page(limit, after, createdBy);
  }

  /**
   * Like `ApiKeys.create`. Rejects with `forbidden` if the caller's key does not cover the new key or the key that it
   * replaces; with `key_exists` if a valid key has the name, so that a repeated request makes no second key; with
   * `forbidden` while there is no key, because only the command makes the first; and with `unauthenticated` if the
   * caller's key has ended.
   */
  async create(by: KeyRequester, request: CreateKeyRequest, replaces?: string): Promise<ShownKey> {
    const made = await this.#keysHeldBy(by).create(request, replaces, async (keys, predecessor) => {
      const holder = await this.#firstHolder(by, keys);
      if (holder === undefined) throw noKeyYet;
      checkNew(holder, request);
      if (predecessor !== undefined) checkPredecessor(holder.term, predecessor, replaces);
      const isTaken = keys.some((key) => key.name === request.name && !hasEnded(key, this.#now()));
      if (isTaken) throw new ServiceError('key_exists', { param: 'name' });
      return holder.conditions;
    });
    await this.#show();
    return made;
  }

  /**
   * Like `ApiKeys.rotate`. Rejects with `forbidden` if the caller's key does not cover this key. Rejects with
   * `rotation_unfinished` if the previous secret is still valid and `endsPrevious` is false, because a repeated request
   * would end the secret that is in use.
   */
  async rotate(by: KeyRequester, id: string, { overlapMs, endsPrevious }: Rotation): Promise<ShownKey> {
    const rotated = await this.#keysHeldBy(by).rotate(id, overlapMs, async (keys, key) => {
      const conditions = await this.#checkChange(by, keys, key);
      const until = key?.previous === undefined ? 0 : Date.parse(key.previous.until);
      if (until > this.#now() && !endsPrevious)
        throw new ServiceError('rotation_unfinished', { param: 'ends_previous' });
      return conditions;
    });
    await this.#show();
    return rotated;
  }

  /**
   * Like `ApiKeys.revoke`. Rejects with `forbidden` if the caller's key does not cover this key, and with
   * `last_admin_key` if nobody could then administer the keys over HTTP.
   */
  async revoke(by: KeyRequester, id: string): Promise<ListedKey> {
    const revoked = await this.#keysHeldBy(by).revoke(id, async (keys, key) => {
      const conditions = await this.#checkChange(by, keys, key);
      const admins = keys.filter((each) => each.scopes.includes('admin') && !hasEnded(each, this.#now()));
      if (admins.length === 1 && admins[0]?.id === id)
        throw new ServiceError('last_admin_key', { param: 'key_id' });
      return conditions;
    });
    await this.#show();
    return { ...revoked, lastUsedAt: await lastUse(this.#engine, id) };
  }

  #keysHeldBy({ caller, requestId }: KeyRequester): ApiKeys {
    return new ApiKeys(this.#engine, requesterFor(caller, requestId), this.#now);
  }

  async #checkChange(
    by: KeyRequester,
    keys: readonly ApiKey[],
    key: ApiKey | undefined,
  ): Promise<readonly Write[]> {
    const holder = await this.#firstHolder(by, keys);
    if (holder === undefined || key === undefined) return [];
    const part = firstEscalation(holder.term, key);
    if (part === undefined) return holder.conditions;
    const message =
      part === 'expires_at' && holder.isReplaced
        ? replacedSecret
        : 'This API key may do more than the sender of this request, or ends later.';
    throw new ServiceError('forbidden', { param: 'key_id', message });
  }

  /** The rights that the caller may give now; undefined while no key exists. */
  async #firstHolder({ caller }: KeyRequester, keys: readonly ApiKey[]): Promise<Holder | undefined> {
    const administrator = administratorId(caller);
    if (administrator !== undefined) return this.#administratorOf(administrator);
    const { id, secretHash } = caller;
    if (secretHash === undefined && keys.length === 0) return undefined;
    const current = keys.find((key) => key.id === id);
    const held = secretHash && current && keyOfSecret(current, secretHash);
    if (!held || hasEnded(held, this.#now())) throw callerEnded;
    return { term: held, isReplaced: current?.hash !== held.hash, conditions: [] };
  }

  async #administratorOf(id: string): Promise<Holder> {
    const found = await this.#administrators.findUnchanged(id);
    if (found === undefined) throw administratorRemoved;
    return { term: found.administrator, isReplaced: false, conditions: [found.isUnchanged] };
  }

  /**
   * Refreshes the cached keys, and ignores an error: the change is durable, and the response with its secret must not
   * be lost.
   */
  #show(): Promise<void> {
    return this.ring.refresh().catch(() => undefined);
  }
}

function checkNew({ term, isReplaced }: Holder, request: CreateKeyRequest): void {
  const param = firstEscalation(term, request);
  if (param === undefined) return;
  const message = param === 'expires_at' && isReplaced ? replacedSecret : escalationMessages[param];
  throw new ServiceError('forbidden', { param, message });
}

const escalationMessages: Readonly<Record<KeyPart, string>> = {
  scopes: 'A key can be given only scopes that the sender of this request has.',
  tables: 'The key of this request is limited to certain tables: name some of them.',
  routes: 'The key of this request is limited to certain payment routes: name some of them.',
  expires_at: 'The key of this request ends before this one would: name an earlier time.',
};

const replacedSecret =
  'A rotation has replaced the secret of this request, which ends with its overlap: send the present one.';

/** Checks the key that a new key replaces. The new key takes over its idempotency keys, and with them its payments. */
function checkPredecessor(holder: Rights, predecessor: ApiKey, replaces: string | undefined): void {
  if (firstEscalationOfRights(holder, predecessor) === undefined) return;
  throw new ServiceError('forbidden', {
    param: replaces === undefined ? 'name' : 'replaces',
    message: `The key that this one would replace may do more than the sender of this request${
      replaces === undefined ? ': choose another name' : ''
    }.`,
  });
}

const noKeyYet = new ServiceError('forbidden', {
  message: `This service has no API key yet, and makes none over HTTP. ${makeFirstKey}`,
});

const callerEnded = new ServiceError('unauthenticated', {
  message: 'The API key of this request has just ended; nothing was changed.',
  hasKeyEnded: true,
});

const administratorRemoved = new ServiceError('unauthenticated', {
  message: 'You are not an administrator any more; nothing was changed.',
});
