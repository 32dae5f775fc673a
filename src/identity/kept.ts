/** What was learned about providers, for a time: bounded, and learned once however many ask at the same moment. */
export class Kept<Value> {
  readonly #entries = new Map<string, { readonly value: Promise<Value>; readonly until: number }>();
  readonly #ageMsMax: number;
  readonly #countMax: number;

  constructor(ageMsMax: number, countMax: number) {
    this.#ageMsMax = ageMsMax;
    this.#countMax = countMax;
  }

  /** The value of this key, or what `learn` gives; a failure is not kept. */
  get(key: string, learn: () => Promise<Value>): Promise<Value> {
    const kept = this.#entries.get(key);
    if (kept !== undefined && kept.until > performance.now()) return kept.value;
    return this.renew(key, learn);
  }

  /** What `learn` gives, whatever is kept. */
  renew(key: string, learn: () => Promise<Value>): Promise<Value> {
    const value = learn();
    const entry = { value, until: performance.now() + this.#ageMsMax };
    this.#entries.delete(key);
    // The one that was learned first goes: a map keeps the order.
    const [oldest] = this.#entries.keys();
    if (this.#entries.size >= this.#countMax && oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.set(key, entry);
    value.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    return value;
  }
}
