import type { Engine } from '../storage/engine.ts';
import { type ApiKey, hasEnded, hashOf, mayBeKey } from './api-key.ts';
import { noteUse, readGeneration, readKeys } from './key-store.ts';
import { apiKeysAgeMsMax, apiKeysRefreshMs, apiKeyUseNotedMs } from './limits.ts';

/** A secret of a key. */
interface HeldSecret {
  readonly key: ApiKey;
  /** Milliseconds since 1970; for ever, unless it is the one before a rotation. */
  readonly until: number;
}

/**
 * The API keys as one process knows them: all of them in memory, so that a request waits for no store. Whoever judges by it sees to it first that it is fresh; so
 * what is revoked in one process holds in all within `apiKeysAgeMsMax`.
 */
export class KeyRing {
  readonly #engine: Engine;
  readonly #now: () => number;
  /** By their hashes. */
  #secrets: ReadonlyMap<string, HeldSecret> = new Map();
  #origins: ReadonlySet<string> = new Set();
  #generation: string | undefined;
  /** By the stopwatch of the process; a clock that is put back must not keep a revoked key alive. */
  #readAt = -Infinity;
  #reading: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  readonly #usesNoted = new Map<string, number>();

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
    this.#now = now;
  }

  /** Whether keys are required: from the first one on, for ever. */
  get areRequired(): boolean {
    return this.#generation !== undefined;
  }

  /** The origins of all publishable keys. */
  get origins(): ReadonlySet<string> {
    return this.#origins;
  }

  /** Whether it is young enough to judge by; from half that age on it is renewed beside the requests. @param at by the stopwatch */
  isFresh(at: number): boolean {
    const age = at - this.#readAt;
    if (age < apiKeysRefreshMs) return true;
    if (age >= apiKeysAgeMsMax) return false;
    if (this.#reading === undefined) this.refresh().catch(() => undefined);
    return true;
  }

  /**
   * Learns every change that was made before this call. Rejects with what the store rejects with: then it is as old as
   * before, and nobody may be judged by it.
   */
  refresh(): Promise<void> {
    if (this.#reading === undefined) return this.#read();
    // The look that is under way may have begun before the change that this caller wants to see.
    this.#next ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.#read();
      });
    return this.#next;
  }

  /**
   * The key that this text is: neither revoked nor expired, and the secret its present one or, after a rotation, the
   * one before. Undefined for anything else.
   *
   * The text is looked for by its hash, and by nothing else of it: what is no key takes the same time whether or not
   * there is a key of its id. That a look-up ends at the first difference tells of the hash at most, and nobody finds
   * a text to a hash.
   */
  find(text: string): ApiKey | undefined {
    if (!mayBeKey(text)) return undefined;
    const held = this.#secrets.get(hashOf(text));
    if (held === undefined) return undefined;
    const now = this.#now();
    return now < held.until && !hasEnded(held.key, now) ? held.key : undefined;
  }

  /** Notes a use, now and then and beside the request; one that is lost is made up for by the next. @param at by the stopwatch */
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
      // Read after the generation: what was changed in between is seen now, and again by the next look.
      const keys = await readKeys(this.#engine);
      this.#secrets = new Map(keys.flatMap(secretsOf));
      this.#origins = originsOf(keys);
      this.#generation = generation;
    }
    this.#readAt = begunAt;
  }
}

function secretsOf(key: ApiKey): [string, HeldSecret][] {
  const current: [string, HeldSecret] = [key.hash, { key, until: Number.POSITIVE_INFINITY }];
  if (key.previous === undefined) return [current];
  const { hash, until } = key.previous;
  return [current, [hash, { key, until: Date.parse(until) }]];
}

function originsOf(keys: readonly ApiKey[]): ReadonlySet<string> {
  return new Set(
    keys.filter(({ revokedAt }) => revokedAt === undefined).flatMap(({ origins = [] }) => origins),
  );
}
