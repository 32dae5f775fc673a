import { LRUCache } from 'lru-cache';

export interface TtlCacheOptions<Value> {
  readonly ageMsMax: number;
  /** How long a failure is cached, so that many callers do not cause many requests. */
  readonly failureMsMax: number;
  readonly countMax: number;
  readonly bytesMax: number;
  /** The approximate memory that a value takes. */
  readonly bytesOf: (value: Value) => number;
}

interface Entry<Value> {
  readonly value: Promise<Value>;
  until: number;
}

/** A cache of promises, bounded in age, count and bytes. Concurrent callers share one load. */
export class TtlCache<Value> {
  readonly #options: TtlCacheOptions<Value>;
  readonly #entries: LRUCache<string, Entry<Value>>;

  constructor(options: TtlCacheOptions<Value>) {
    this.#options = options;
    const { countMax: max, bytesMax: maxSize } = options;
    this.#entries = new LRUCache({ max, maxSize });
  }

  /** The cached value of a key, or the result of `load`. Rejects with a cached failure. */
  get(key: string, load: () => Promise<Value>): Promise<Value> {
    const cached = this.#entries.get(key);
    if (cached !== undefined && cached.until > performance.now()) return cached.value;
    return this.renew(key, load);
  }

  /** Calls `load` even if a value is cached, and caches its result. */
  renew(key: string, load: () => Promise<Value>): Promise<Value> {
    const { ageMsMax, failureMsMax, bytesOf } = this.#options;
    const value = load();
    const entry: Entry<Value> = { value, until: performance.now() + ageMsMax };
    this.#entries.set(key, entry, { size: 1 });
    value.then(
      (known) => {
        // The size of the value is known only now.
        if (this.#entries.peek(key) === entry) this.#entries.set(key, entry, { size: 1 + bytesOf(known) });
      },
      () => {
        entry.until = performance.now() + failureMsMax;
      },
    );
    return value;
  }
}
