import { LRUCache } from 'lru-cache';

export interface TtlCacheOptions<Value> {
  readonly ageMsMax: number;
  /** A failure is remembered for so long, so that many who ask do not make many requests. */
  readonly failureMsMax: number;
  readonly countMax: number;
  readonly bytesMax: number;
  /** What a value takes of memory, roughly. */
  readonly bytesOf: (value: Value) => number;
}

interface Entry<Value> {
  readonly value: Promise<Value>;
  until: number;
}

/** What was learned about providers, for a time: bounded in count and bytes, and learned once however many ask at once. */
export class TtlCache<Value> {
  readonly #options: TtlCacheOptions<Value>;
  readonly #entries: LRUCache<string, Entry<Value>>;

  constructor(options: TtlCacheOptions<Value>) {
    this.#options = options;
    const { countMax: max, bytesMax: maxSize } = options;
    this.#entries = new LRUCache({ max, maxSize });
  }

  /** The value of this key, or what `learn` gives. Rejects with a failure of a moment ago. */
  get(key: string, learn: () => Promise<Value>): Promise<Value> {
    const kept = this.#entries.get(key);
    if (kept !== undefined && kept.until > performance.now()) return kept.value;
    return this.renew(key, learn);
  }

  /** What `learn` gives, whatever is kept. */
  renew(key: string, learn: () => Promise<Value>): Promise<Value> {
    const { ageMsMax, failureMsMax, bytesOf } = this.#options;
    const value = learn();
    const entry: Entry<Value> = { value, until: performance.now() + ageMsMax };
    this.#entries.set(key, entry, { size: 1 });
    value.then(
      (known) => {
        // Its size is known only now.
        if (this.#entries.peek(key) === entry) this.#entries.set(key, entry, { size: 1 + bytesOf(known) });
      },
      () => {
        entry.until = performance.now() + failureMsMax;
      },
    );
    return value;
  }
}
