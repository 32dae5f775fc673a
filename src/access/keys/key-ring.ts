import { digest } from '../../random.ts';
import type { Engine } from '../../storage/engine.ts';
import { type ApiKey, hasEnded, keyOfSecret, mayBeKey } from './api-key.ts';
import { noteUse, readGeneration, readKeys } from './key-store.ts';

/** Maximum age of the cached keys when a request is authorized. After this time a revocation applies everywhere. */
export const apiKeysAgeMsMax = 1_000;
/** From this age on the cached keys are refreshed in the background, so that no request waits for the store. */
export const apiKeysRefreshMs = 500;
/** How often the last use of a key is written. Operators need only the day. */
const apiKeyUseNotedMs = 5 * 60 * 1_000;

/**
 * The API keys of the store, cached in memory so that a request does not wait for the store. Call `refresh()` before
 * authorizing if `isFresh()` is false. Then a revocation in one process applies in all within `apiKeysAgeMsMax`.
 */
export class KeyRing {
  readonly #engine: Engine;
  readonly #now: () => number;
  /** The keys by the hashes of their secrets, each as the holder of that secret has it (`keyOfSecret`). */
  #secrets: ReadonlyMap<string, ApiKey> = new Map();
  #origins: ReadonlySet<string> = new Set();
  #generation: string | undefined;
  /** In milliseconds of `performance.now()`: a system clock that moves backwards must not keep a revoked key alive. */
  #readAt = -Infinity;
  #reading: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  readonly #usesNoted = new Map<string, number>();

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
    this.#now = now;
  }

  /** Whether keys are required. They are from the creation of the first key on, for ever. */
  get areRequired(): boolean {
    return this.#generation !== undefined;
  }

  /** The publishable keys that have not ended. */
  get publishable(): readonly ApiKey[] {
    const valid = [...this.#secrets.values()].filter(
      (key) => key.kind === 'publishable' && !hasEnded(key, this.#now()),
    );
    return [...new Map(valid.map((key) => [key.id, key])).values()];
  }

  /** The origins of all publishable keys. */
  get origins(): ReadonlySet<string> {
    return this.#origins;
  }

  /**
   * Whether the cached keys are fresh enough to authorize with. From half of the maximum age on, they are refreshed in the
   * background. @param at in milliseconds of `performance.now()`
   */
  isFresh(at: number): boolean {
    const age = at - this.#readAt;
    if (age < apiKeysRefreshMs) return true;
    if (age >= apiKeysAgeMsMax) return false;
    if (this.#reading === undefined) this.refresh().catch(() => undefined);
    return true;
  }

  /**
   * Reads every change that was made before this call. If it rejects, with the error of the store, the cached keys are
   * as old as before and must not be used to authorize.
   */
  refresh(): Promise<void> {
    if (this.#reading === undefined) return this.#read();
    // A read that is under way may have begun before the change that this caller must see.
    this.#next ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.#read();
      });
    return this.#next;
  }

  /**
   * The key with this text, if it is neither revoked nor expired. Its secret is the present one or, during the overlap
   * of a rotation, the previous one. With the previous secret, the key ends with the overlap. Undefined for any other
   * text.
   *
   * The look-up uses only the hash of the text, so an invalid text takes the same time whether or not a key has its id.
   * The time of a comparison can reveal at most the hash, and the text cannot be derived from it.
   */
  find(text: string): ApiKey | undefined {
    return mayBeKey(text) ? this.findByHash(digest(text)) : undefined;
  }

  /** Like `find`, for a secret whose hash alone is known. */
  findByHash(hash: string): ApiKey | undefined {
    const key = this.#secrets.get(hash);
    return key === undefined || hasEnded(key, this.#now()) ? undefined : key;
  }

  /**
   * Stores the last use of a key in the background, at most once per `apiKeyUseNotedMs`. If a write fails, a later use
   * is stored.
   * @param at in milliseconds of `performance.now()`
   */
  noteUse(id: string, at: number): void {
    const noted = this.#usesNoted.get(id);
    if (noted !== undefined && at - noted < apiKeyUseNotedMs) return;
    this.#usesNoted.set(id, at);
    noteUse(this.#engine, id, new Date(this.#now()).toISOString()).catch(() => undefined);
  }

  #read(): Promise<void> {
    const reading = this.#readOnce().finally(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    this.#reading = reading;
    return reading;
  }

  async #readOnce(): Promise<void> {
    const begunAt = performance.now();
    const generation = await readGeneration(this.#engine);
    if (generation !== this.#generation) {
      // The keys are read after the generation. So a change in between is read now, and once more by the next refresh.
      const keys = await readKeys(this.#engine);
      this.#secrets = new Map(keys.flatMap(secretEntries));
      this.#origins = allowedOrigins(keys);
      this.#generation = generation;
    }
    this.#readAt = begunAt;
  }
}

function secretEntries(key: ApiKey): [string, ApiKey][] {
  const hashes = [key.hash, ...(key.previous === undefined ? [] : [key.previous.hash])];
  return hashes.flatMap((hash): [string, ApiKey][] => {
    const held = keyOfSecret(key, hash);
    return held === undefined ? [] : [[hash, held]];
  });
}

function allowedOrigins(keys: readonly ApiKey[]): ReadonlySet<string> {
  return new Set(
    keys.filter(({ revokedAt }) => revokedAt === undefined).flatMap(({ origins = [] }) => origins),
  );
}
