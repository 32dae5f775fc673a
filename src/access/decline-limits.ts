import { LRUCache } from 'lru-cache';
import { countedNetworks } from '../counted-address.ts';
import { ServiceError } from '../errors.ts';
import type { Engine, Space, Write } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';
import {
  declinesOfNetworkFactor,
  declinesPerDayFactor,
  declinesPerHourDefault,
  limitedCallersMax,
} from './limits.ts';

const space: Space = 'service:declines';
const hourMs = 60 * 60 * 1_000;
const dayMs = 24 * hourMs;

/**
 * When the two buckets of an address will be full again, in milliseconds since 1970 (as in `rate-limit.ts`). A time in the past
 * is a full bucket.
 */
interface Standing {
  readonly hour: number;
  readonly day: number;
}

/** Writes for the caller's commit, and what to do after it. */
export interface CountChange {
  readonly writes: readonly Write[];
  readonly committed: () => void;
}

/** @returns when a bucket will be full, from when it was to be. @param stepMs the time in which it regains one card */
type Change = (fullAt: number, stepMs: number) => number;

export interface DeclineLimitsOptions {
  readonly engine: Engine;
  /** Declined cards per hour from one address, and four times as many per day; 0 is no limit. */
  readonly perHour?: number | undefined;
  /** How old the count of another process may be, in milliseconds: 0 if reading the store costs nothing. */
  readonly cachedMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Limits the cards that one address tries: a person mistypes twice, but a thief tests hundreds of cards. A card counts when it
 * is declined, and when its bank asks for the cardholder, because that too shows that the card exists. The counts are in the
 * store, so that all processes share them. Only the buyer's address is counted: one buyer must not block a shop, and another
 * key must not unblock an address.
 */
export class DeclineLimits {
  readonly #options: DeclineLimitsOptions;
  readonly #perHour: number;
  readonly #cached: LRUCache<string, Standing>;

  constructor(options: DeclineLimitsOptions) {
    this.#options = options;
    this.#perHour = options.perHour ?? declinesPerHourDefault;
    this.#cached = new LRUCache({ max: limitedCallersMax, ttl: Math.max(1, options.cachedMs) });
  }

  /** Throws `rate_limited` if the address has tried too many cards. Nothing is reserved then. */
  async check(address: string): Promise<void> {
    if (this.#perHour === 0) return;
    const now = this.#options.now();
    for (const { id, factor } of countedNetworks(address, declinesOfNetworkFactor)) {
      const waitMs = this.#waitMs(await this.#standing(id), factor, now);
      if (waitMs > 0) throw tooMany(waitMs);
    }
  }

  /**
   * Counts a card: its charge was declined, or its bank asks for the cardholder. The caller commits the writes with what it knows
   * of the card; they fail if the count has changed since.
   */
  count(address: string): Promise<CountChange> {
    const now = this.#options.now();
    return this.#changeAll(address, (fullAt, stepMs) => Math.max(fullAt, now) + stepMs);
  }

  /**
   * Takes back one `count`: the cardholder has authenticated the payment. What a bucket has regained by itself since then is not
   * given back once more: otherwise waiting challenges would gain an address more cards than its limit.
   *
   * @param countedAt when it was counted or before, in milliseconds since 1970
   */
  giveBack(address: string, countedAt: number): Promise<CountChange> {
    const elapsedMs = this.#options.now() - countedAt;
    return this.#changeAll(address, (fullAt, stepMs) => (elapsedMs < stepMs ? fullAt - stepMs : fullAt));
  }

  isCount(write: Write): boolean {
    return write.space === space;
  }

  async #changeAll(address: string, change: Change): Promise<CountChange> {
    const networks = this.#perHour === 0 ? [] : countedNetworks(address, declinesOfNetworkFactor);
    const changes = await Promise.all(networks.map(({ id, factor }) => this.#change(id, factor, change)));
    return {
      writes: changes.map(({ write }) => write),
      committed: () => {
        if (this.#options.cachedMs > 0)
          for (const { write, after } of changes) this.#cached.set(write.id, after);
      },
    };
  }

  /** Deletes the counts of addresses that have full buckets. */
  async sweep(): Promise<void> {
    const { engine, now } = this.#options;
    const full: string[] = [];
    for await (const { id, name } of itemsOf((await engine.scan(space))?.chunks ?? [])) {
      const { hour, day } = JSON.parse(name) as Standing;
      if (Math.max(hour, day) <= now()) full.push(id);
    }
    for (const id of full) await engine.commit([{ kind: 'delete', space, id }]);
  }

  async #standing(id: string): Promise<Standing | undefined> {
    const { engine, cachedMs } = this.#options;
    const cached = cachedMs === 0 ? undefined : this.#cached.get(id);
    if (cached !== undefined) return cached;
    const text = await engine.get(space, id);
    const standing = text === undefined ? none : (JSON.parse(text) as Standing);
    if (cachedMs > 0) this.#cached.set(id, standing);
    return standing;
  }

  async #change(id: string, factor: number, change: Change) {
    const before = await this.#options.engine.get(space, id);
    const { hour, day } = before === undefined ? none : (JSON.parse(before) as Standing);
    const quota = this.#perHour * factor;
    const after: Standing = {
      hour: change(hour, hourMs / quota),
      day: change(day, dayMs / (quota * declinesPerDayFactor)),
    };
    const value = JSON.stringify(after);
    const write: Write =
      before === undefined
        ? { kind: 'create', space, id, value, makeSpace: true }
        : { kind: 'replace', space, id, value, ifValue: before };
    return { write, after };
  }

  #waitMs(standing: Standing | undefined, factor: number, now: number): number {
    const { hour, day } = standing ?? none;
    const quota = this.#perHour * factor;
    return Math.max(
      hour + hourMs / quota - now - hourMs,
      day + dayMs / (quota * declinesPerDayFactor) - now - dayMs,
    );
  }
}

const none: Standing = { hour: 0, day: 0 };

function tooMany(waitMs: number): ServiceError {
  return new ServiceError('rate_limited', {
    message:
      'Too many cards from this address were declined or wait for their cardholders; try again later. Nothing was charged.',
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
  });
}
