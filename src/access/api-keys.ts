import { ServiceError } from '../errors.ts';
import type { Engine } from '../storage/engine.ts';
import { type ApiKey, hasEnded, hashOf, newApiKeyId, newApiKeyText } from './api-key.ts';
import { type Actor, type AdministrativeAct, audited } from './audit.ts';
import { type CreateKeyRequest, checkCreateKeyRequest } from './key-order.ts';
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

/** A key, and its text, which nobody can tell again. */
export interface ShownKey {
  readonly key: ApiKey;
  readonly text: string;
}

/** A key as an operator sees it. */
export interface ListedKey extends ApiKey {
  readonly lastUsedAt: string | undefined;
}

/** Makes, changes and ends API keys; each change is audited in its own commit, and every process knows it within a second. */
export class ApiKeys {
  readonly #engine: Engine;
  readonly #by: Actor;
  readonly #now: () => number;

  /** @param by who makes the changes */
  constructor(engine: Engine, by: Actor, now: () => number = Date.now) {
    this.#engine = engine;
    this.#by = by;
    this.#now = now;
  }

  /** Whether a key was ever made: from then on the service is open to nobody without one. */
  async wereEverMade(): Promise<boolean> {
    return (await readGeneration(this.#engine)) !== undefined;
  }

  /** In the order in which they were made. */
  async list(): Promise<ListedKey[]> {
    const keys = (await readKeys(this.#engine)).sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
    return Promise.all(
      keys.map(async (key) => ({ ...key, lastUsedAt: await lastUse(this.#engine, key.id) })),
    );
  }

  /**
   * Refuses with `invalid_request` an order that contradicts itself, and any while there are `apiKeysMax` keys that have
   * not ended; one that has ended makes room.
   *
   * @param replaces the id of the key that it takes over from: a payment that was sent with that one is then not charged again
   *   when it is sent with this one. Without it that is the latest key of the same name, which may have ended.
   */
  async create(order: CreateKeyRequest, replaces?: string): Promise<ShownKey> {
    checkCreateKeyRequest(order, this.#now());
    const id = newApiKeyId();
    const text = newApiKeyText(order.kind, id);
    const made = { id, ...order, hash: hashOf(text), createdAt: this.#moment() };
    return changeKeys(this.#engine, async (keys) => {
      const shop = shopOfPredecessor(keys, order, replaces);
      const key: ApiKey = shop === undefined ? made : { ...made, shop };
      const room = keys.length < apiKeysMax ? [] : await keyDeleted(this.#engine, this.#oldestEnded(keys));
      return {
        writes: [...room, keyCreated(key), this.#audited('key.created', id)],
        result: { key, text },
      };
    });
  }

  /** Ends a key; one that is revoked already stays as it is. Refuses with `invalid_request` where there is none. */
  async revoke(id: string): Promise<ApiKey> {
    return changeKeys(this.#engine, (keys) => {
      const before = keyOf(keys, id);
      if (before.revokedAt !== undefined) return { writes: [], result: before };
      const { previous: _, ...rest } = before;
      const after = { ...rest, revokedAt: this.#moment() };
      return { writes: [keyReplaced(before, after), this.#audited('key.revoked', id)], result: after };
    });
  }

  /**
   * Gives a key a new secret. The present one holds on for the overlap; one that holds on from an earlier rotation
   * ends now: there are never more than two. Refuses with `invalid_request` where there is none, or it has ended.
   *
   * @param overlapMs 0 ends the present secret now
   */
  async rotate(id: string, overlapMs: number): Promise<ShownKey> {
    return changeKeys(this.#engine, (keys) => {
      const before = keyOf(keys, id);
      if (hasEnded(before, this.#now())) throw invalid('id', 'This API key has ended; make a new one.');
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

  #moment(): string {
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
