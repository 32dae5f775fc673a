import { type Actor, type AdministrativeAct, audited, type Requester } from '../../audit/audit.ts';
import { invalidRequest, ServiceError } from '../../errors.ts';
import { digest } from '../../random.ts';
import type { Engine, Write } from '../../storage/engine.ts';
import {
  type ApiKey,
  type CreateKeyRequest,
  hasEnded,
  type ListedKey,
  newApiKeyId,
  newApiKeyText,
  type ShownKey,
} from './api-key.ts';
import { checkCreateKeyRequest } from './create-key-request.ts';
import { changeKeys, keyCreated, keyDeleted, keyReplaced, lastUse, readKeys } from './key-store.ts';
import { creatorsBy, firstHolder, wasCreatedBy } from './privilege-escalation.ts';

/** API keys of a service, including ended keys. Each process caches all of them. */
export const apiKeysMax = 1_000;
/**
 * Keys of one holder, including ended keys and keys that its keys have made. It is a quarter of all, so that three
 * stolen keys leave room for others.
 */
export const apiKeysOfHolderMax = 250;
/** Keys that one commit revokes, each with its audit entry, because a transaction has at most 100 writes. */
const keysRevokedAtOnce = 40;

/**
 * Rejects if the caller may not make a change. Returns further conditions for its commit. It is called with the keys
 * that the commit finds, and again if something has changed meanwhile. `key` is the key that changes, or the key that a
 * new key replaces, if there is one.
 */
type KeyChangeCheck = (keys: readonly ApiKey[], key: ApiKey | undefined) => Promise<readonly Write[]>;
const unchecked: KeyChangeCheck = async () => [];

/**
 * Creates, changes and ends API keys. The audit entry is in the same commit as the change. Every process sees the
 * change within 1 s.
 */
export class ApiKeys {
  readonly #engine: Engine;
  readonly #requester: Requester;
  readonly #now: () => number;

  /** @param by who makes the changes, for the audit trail */
  constructor(engine: Engine, by: Actor | Requester, now: () => number = Date.now) {
    this.#engine = engine;
    this.#requester = typeof by === 'string' ? { by } : by;
    this.#now = now;
  }

  /** All keys, in the order of their creation. */
  async list(): Promise<ListedKey[]> {
    return this.#withLastUse((await readKeys(this.#engine)).sort(byCreation));
  }

  /**
   * A page of all keys, in the order of their creation, and the `after` of the next page, if any. Rejects with
   * `invalid_request` if `after` is not the id of a key.
   *
   * @param createdBy selects only keys that this creator has made (`wasCreatedBy`)
   */
  async page(
    limit: number,
    after?: string,
    createdBy?: string,
  ): Promise<{ keys: ListedKey[]; next: string | undefined }> {
    const all = (await readKeys(this.#engine)).sort(byCreation);
    const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
    if (after !== undefined && start === 0)
      throw invalidRequest('after', 'after must be the next of the previous page.');
    const rest = all.slice(start).filter((key) => createdBy === undefined || wasCreatedBy(key, createdBy));
    const keys = await this.#withLastUse(rest.slice(0, limit));
    return { keys, next: limit < rest.length ? keys.at(-1)?.id : undefined };
  }

  /**
   * Creates a key. To make room, the oldest ended key is deleted: the holder's own if the holder's share is full.
   * Rejects with `invalid_request` if the request contradicts itself, or if there is no ended key to delete among
   * `apiKeysMax` keys, or among the `apiKeysOfHolderMax` keys of the holder.
   *
   * @param replaces the id of the key that the new key replaces. A payment that was sent with the old key is not
   *   charged again if it is sent with the new key. By default the latest key with the same name, even if it has ended.
   */
  async create(request: CreateKeyRequest, replaces?: string, check = unchecked): Promise<ShownKey> {
    checkCreateKeyRequest(request, this.#now());
    const id = newApiKeyId();
    const text = newApiKeyText(request.kind, id);
    const created = { id, ...request, hash: digest(text), createdAt: this.#timestamp() };
    return changeKeys(this.#engine, async (keys) => {
      const before = findPredecessor(keys, request, replaces);
      const held = await check(keys, before);
      const made = { ...created, creators: creatorsBy(this.#requester.by, keys) };
      const key: ApiKey = before === undefined ? made : { ...made, shop: before.shop ?? before.id };
      const room = await this.#roomFor(key, keys);
      return {
        writes: [...held, ...room, keyCreated(key), this.#audited('key.created', id)],
        result: { key, text },
      };
    });
  }

  /** Revokes a key. A revoked key does not change. Rejects with `key_not_found`. */
  async revoke(id: string, check = unchecked): Promise<ApiKey> {
    return changeKeys(this.#engine, async (keys) => {
      const before = requireKey(keys, id);
      const held = await check(keys, before);
      if (before.revokedAt !== undefined) return { writes: [], result: before };
      const { previous: _, ...rest } = before;
      const after = { ...rest, revokedAt: this.#timestamp() };
      const writes = [...held, keyReplaced(before, after), this.#audited('key.revoked', id)];
      return { writes, result: after };
    });
  }

  /** The valid keys that somebody has created, also through other keys. */
  async validCreatedBy(creator: string): Promise<readonly ApiKey[]> {
    const keys = await readKeys(this.#engine);
    return keys.filter((key) => wasCreatedBy(key, creator) && !hasEnded(key, this.#now())).sort(byCreation);
  }

  /**
   * Revokes all keys that somebody has created, also through other keys, until none of them is valid. If such a key is
   * created meanwhile, the commit fails, and all keys are read again.
   *
   * @returns the revoked keys
   */
  async revokeCreatedBy(creator: string): Promise<readonly ApiKey[]> {
    const revoked: ApiKey[] = [];
    for (;;) {
      const some = await changeKeys(this.#engine, async (keys) => {
        const next = keys
          .filter((key) => wasCreatedBy(key, creator) && key.revokedAt === undefined)
          .slice(0, keysRevokedAtOnce);
        const after = next.map(({ previous: _, ...key }) => ({ ...key, revokedAt: this.#timestamp() }));
        const writes = next.flatMap((before, n) => [
          keyReplaced(before, after[n] as ApiKey),
          this.#audited('key.revoked', before.id),
        ]);
        return { writes, result: after };
      });
      if (some.length === 0) return revoked;
      revoked.push(...some);
    }
  }

  /**
   * Gives a key a new secret. The present secret stays valid for the overlap. The previous secret of an earlier
   * rotation ends now, so a key never has more than two secrets. Rejects with `key_not_found`, and with
   * `invalid_request` if the key has ended.
   *
   * @param overlapMs 0 ends the present secret at once
   */
  async rotate(id: string, overlapMs: number, check = unchecked): Promise<ShownKey> {
    return changeKeys(this.#engine, async (keys) => {
      const before = requireKey(keys, id);
      const held = await check(keys, before);
      if (hasEnded(before, this.#now()))
        throw invalidRequest('key_id', 'This API key has ended; create a new one.');
      const text = newApiKeyText(before.kind, id);
      const { previous: _, ...rest } = before;
      const until = new Date(this.#now() + overlapMs).toISOString();
      const previous = overlapMs === 0 ? {} : { previous: { hash: before.hash, until } };
      const key: ApiKey = { ...rest, hash: digest(text), ...previous };
      const writes = [...held, keyReplaced(before, key), this.#audited('key.rotated', id)];
      return { writes, result: { key, text } };
    });
  }

  /** The deletion that makes room for a new key, if one is needed. */
  async #roomFor(key: ApiKey, keys: readonly ApiKey[]): Promise<readonly Write[]> {
    const holder = firstHolder(key);
    const ofHolder = holder === undefined ? [] : keys.filter((each) => firstHolder(each) === holder);
    if (ofHolder.length >= apiKeysOfHolderMax)
      return this.#oldestEndedDeleted(ofHolder, 'that you have made');
    return keys.length < apiKeysMax ? [] : this.#oldestEndedDeleted(keys, 'already');
  }

  #oldestEndedDeleted(keys: readonly ApiKey[], which: string): Promise<Write[]> {
    const [oldest] = keys.filter((key) => hasEnded(key, this.#now())).sort(byCreation);
    if (oldest !== undefined) return keyDeleted(this.#engine, oldest);
    throw invalidRequest(
      undefined,
      `There are ${keys.length} API keys ${which}; revoke one that is not needed.`,
    );
  }

  #audited(what: AdministrativeAct['what'], on: string) {
    return audited({ what, on, ...this.#requester }, this.#now());
  }

  #withLastUse(keys: readonly ApiKey[]): Promise<ListedKey[]> {
    return Promise.all(
      keys.map(async (key) => ({ ...key, lastUsedAt: await lastUse(this.#engine, key.id) })),
    );
  }

  #timestamp(): string {
    return new Date(this.#now()).toISOString();
  }
}

/** The key whose idempotency keys a new key takes over. */
function findPredecessor(
  keys: readonly ApiKey[],
  { kind, name }: CreateKeyRequest,
  replaces: string | undefined,
): ApiKey | undefined {
  if (replaces !== undefined) return requireKey(keys, replaces, 'replaces');
  return keys
    .filter((key) => key.kind === kind && key.name === name)
    .sort(byCreation)
    .at(-1);
}

function requireKey(keys: readonly ApiKey[], id: string, param = 'key_id'): ApiKey {
  const key = keys.find((candidate) => candidate.id === id);
  if (key === undefined) throw new ServiceError('key_not_found', { param });
  return key;
}

/** Keys of the same millisecond are ordered by id, so that pages are consistent. */
function byCreation(one: ApiKey, other: ApiKey): number {
  if (one.createdAt !== other.createdAt) return one.createdAt < other.createdAt ? -1 : 1;
  return one.id < other.id ? -1 : 1;
}
