import { randomBytes } from 'node:crypto';
import type { Engine, Space, Write } from '../../storage/engine.ts';
import { itemsOf } from '../../storage/item-text.ts';
import { heartbeatMs, ownerSilenceMsMax } from '../limits.ts';

const space: Space = 'service:heartbeats';

/**
 * Records which processes are alive, so that another process takes over the charges of a dead one. While a process owns
 * a charge or refund, its counter in `service:heartbeats` goes up. An owner counts as dead when its counter has not
 * changed for `ownerSilenceMsMax`. Each process measures this time by its own clock, so clocks need not agree. Taking
 * over from an owner that only paused is safe: the processor's idempotency key and the payment's state prevent a second
 * charge.
 */
export class Heartbeats {
  /** The id of this process. */
  readonly self = randomBytes(9).toString('base64url');
  readonly #engine: Engine;
  readonly #silenceMsMax: number;
  /** The last counter of each owner, and since when it has not changed. */
  readonly #seen = new Map<string, { readonly count: string; readonly since: number }>();
  readonly #owned = new Set<string>();
  #count = 0;
  #beat: NodeJS.Timeout | undefined;
  #lastBeat: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine, silenceMsMax: number = ownerSilenceMsMax) {
    this.#engine = engine;
    this.#silenceMsMax = silenceMsMax;
  }

  /** Runs work on a charge or refund, and writes heartbeats until it is done. @param id the id of the marker */
  async own<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
    this.#owned.add(id);
    this.#beat ??= setInterval(() => this.#pulse(), heartbeatMs);
    try {
      return await work();
    } finally {
      this.#owned.delete(id);
      if (this.#owned.size === 0) {
        clearInterval(this.#beat);
        this.#beat = undefined;
      }
    }
  }

  #pulse(): void {
    // A failed write is a missed beat.
    this.#lastBeat = this.#lastBeat.then(() => this.#write(String(++this.#count))).catch(() => undefined);
  }

  async #write(value: string): Promise<void> {
    const write = { space, id: this.self, value } as const;
    const failure = await this.#engine.commit([{ kind: 'replace', ...write }]);
    if (failure !== undefined) await this.#engine.commit([{ kind: 'create', ...write, makeSpace: true }]);
  }

  /** Reads all counters. Call it before `hasReleased`. */
  async watch(): Promise<void> {
    const now = performance.now();
    const scan = await this.#engine.scan(space);
    for await (const { id, name: count } of itemsOf(scan?.chunks ?? [])) {
      if (this.#seen.get(id)?.count !== count) this.#seen.set(id, { count, since: now });
    }
  }

  /**
   * Whether an owner no longer works on a charge or refund: this process has finished it, or the other process is silent.
   *
   * @param knownSince when this process first saw this owner on the marker, by `performance.now()`. The silence counts
   *   from then, because a process that owns nothing writes no heartbeats
   */
  hasReleased(owner: string, id: string, knownSince: number): boolean {
    if (owner === this.self) return !this.#owned.has(id);
    const since = Math.max(knownSince, this.#seen.get(owner)?.since ?? knownSince);
    return performance.now() - since >= this.#silenceMsMax;
  }

  /** Removes the counters of processes that died long ago. @param holding the owners that markers still name */
  async forgetOthers(holding: ReadonlySet<string>): Promise<void> {
    const gone = [...this.#seen].filter(
      ([owner, { since }]) =>
        owner !== this.self && !holding.has(owner) && performance.now() - since > 10 * this.#silenceMsMax,
    );
    for (const [owner] of gone) {
      this.#seen.delete(owner);
      await this.#engine.commit([{ kind: 'delete', space, id: owner } satisfies Write]);
    }
  }

  /** Call it when no work is left. */
  async close(): Promise<void> {
    clearInterval(this.#beat);
    await this.#lastBeat;
    if (this.#count > 0) await this.#engine.commit([{ kind: 'delete', space, id: this.self }]);
  }
}
