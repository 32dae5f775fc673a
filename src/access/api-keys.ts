import { ServiceError } from '../errors.ts';
import type { Engine } from '../storage/engine.ts';
import { type ApiKey, hasEnded, hashOf, newApiKeyId, newApiKeyText } from './api-key.ts';
import { type Actor, type AdministrativeAct, audited } from './audit.ts';
import { type CreateKeyRequest, checkCreateKeyRequest } from './create-key-request.ts';
import {
  changeKeys,
  keyCreated,
  keyDeleted,
  keyReplaced,
  lastUse,
  readGeneration,
  readKeys,
} from './key-store.ts';
import { apiKeysMax } from './limits.ts';

/** A key and its text. The text cannot be shown again. */
export interface ShownKey {
  readonly key: ApiKey;
  readonly text: string;
}

/** A key as an operator sees it. */
export interface ListedKey extends ApiKey {
  readonly lastUsedAt: string | undefined;
}

/** Creates, changes and ends API keys. The audit entry is in the same commit as the change; every process sees it within 1 s. */
export class ApiKeys {
  readonly #engine: Engine;
  readonly #by: Actor;
  readonly #now: () => number;

  /** @param by the actor of the changes, for the audit trail */
  constructor(engine: Engine, by: Actor, now: () => number = Date.now) {
    this.#engine = engine;
    this.#by = by;
    this.#now = now;
  }

  /** Whether a key was ever created. From then on every caller needs one. */
  async wereEverMade(): Promise<boolean> {
    return (await readGeneration(this.#engine)) !== undefined;
  }

  /** All keys, in the order of their creation. */
  async list(): Promise<ListedKey[]> {
    const keys = (await readKeys(this.#engine)).sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
    return Promise.all(
      keys.map(async (key) => ({ ...key, lastUsedAt: await lastUse(this.#engine, key.id) })),
    );
  }

  /**
   * Rejects with `invalid_request` if the request contradicts itself, or if there are `apiKeysMax` keys that have not
   * ended. The oldest key that has ended is deleted to make room.
   *
   * @param replaces the id of the key that the new one replaces: a payment that was sent with the old key is not charged
   *   again when it is sent with the new one. Default: the latest key with the same name, which may have ended.
   */
  async create(request: CreateKeyRequest, replaces?: string): Promise<ShownKey> {
    checkCreateKeyRequest(request, this.#now());
    const id = newApiKeyId();
    const text = newApiKeyText(request.kind, id);
    const created = { id, ...request, hash: hashOf(text), createdAt: this.#timestamp() };
    return changeKeys(this.#engine, async (keys) => {
      const shop = shopOfPredecessor(keys, request, replaces);
      const key: ApiKey = shop === undefined ? created : { ...created, shop };
      const room = keys.length < apiKeysMax ? [] : await keyDeleted(this.#engine, this.#oldestEnded(keys));
      return {
        writes: [...room, keyCreated(key), this.#audited('key.created', id)],
        result: { key, text },
      };
    });
  }

  /** Revokes a key; a revoked key stays as it is. Rejects with `invalid_request` if there is no such key. */
  async revoke(id: string): Promise<ApiKey> {
    return changeKeys(this.#engine, (keys) => {
      const before = keyOf(keys, id);
      if (before.revokedAt !== undefined) return { writes: [], result: before };
      const { previous: _, ...rest } = before;
      const after = { ...rest, revokedAt: this.#timestamp() };
      return { writes: [keyReplaced(before, after), this.#audited('key.revoked', id)], result: after };
    });
  }

  /**
   * Gives a key a new secret. The present secret stays valid for the overlap. The previous secret of an earlier rotation
   * ends now: there are never more than two. Rejects with `invalid_request` if there is no such key or it has ended.
   *
   * @param overlapMs 0 ends the present secret now
   */
  async rotate(id: string, overlapMs: number): Promise<ShownKey> {
    return changeKeys(this.#engine, (keys) => {
      const before = keyOf(keys, id);
      if (hasEnded(before, this.#now())) throw invalid('id', 'This API key has ended; create a new one.');
      const text = newApiKeyText(before.kind, id);
      const { previous: _, ...rest } = before;
      const until = new Date(this.#now() + overlapMs).toISOString();
      const previous = overlapMs === 0 ? {} : { previous: { hash: before.hash, until } };
      const key: ApiKey = { ...rest, hash: hashOf(text), ...previous };
      return { writes: [keyReplaced(before, key), this.#audited('key.rotated', id)], result: { key, text } };
    });
  }

  #oldestEnded(keys: readonly ApiKey[]): ApiKey {
    const [oldest] = keys
      .filter((key) => hasEnded(key, this.#now()))
      .sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
    if (oldest !== undefined) return oldest;
    throw invalid(undefined, `There are ${apiKeysMax} API keys already; revoke one that is not needed.`);
  }

  #audited(what: AdministrativeAct['what'], on: string) {
    return audited({ what, on, by: this.#by }, this.#now());
  }

  #timestamp(): string {
    return new Date(this.#now()).toISOString();
  }
}

function shopOfPredecessor(
  keys: readonly ApiKey[],
  { kind, name }: CreateKeyRequest,
  replaces: string | undefined,
): string | undefined {
  const sameName = keys
    .filter((key) => key.kind === kind && key.name === name)
    .sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
  const before = replaces === undefined ? sameName.at(-1) : keyOf(keys, replaces);
  return before === undefined ? undefined : (before.shop ?? before.id);
}

function keyOf(keys: readonly ApiKey[], id: string): ApiKey {
  const key = keys.find((candidate) => candidate.id === id);
  if (key === undefined) throw invalid('id', 'There is no API key with this id.');
  return key;
}

function invalid(param: string | undefined, message: string): ServiceError {
  return new ServiceError('invalid_request', { param, message });
}
