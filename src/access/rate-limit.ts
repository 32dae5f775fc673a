import { limitedCallersMax } from './limits.ts';

/** So much in so long: a bucket of `quota` that fills up again evenly within `windowMs`. */
export interface Rate {
  readonly quota: number;
  readonly windowMs: number;
}

/** Sums of doubles are off by less than that; a request must not wait for it. */
const roundingMs = 0.001;

/**
 * Counts what each caller takes, by one number for each (the generic cell rate algorithm, ITU-T I.371): when the
 * bucket will be full again. So there are no windows whose borders let through twice as much, and no timers. In memory,
 * for this process alone; the caller that was silent longest is forgotten when there are too many.
 */
export class RateLimit {
  readonly rate: Rate;
  readonly #intervalMs: number;
  /** In the order in which they last took one, the longest silent first. */
  readonly #buckets = new Map<string, Bucket>();
  #last: Bucket | undefined;

  constructor(rate: Rate) {
    this.rate = rate;
    this.#intervalMs = rate.windowMs / rate.quota;
  }

  /** Takes one where one is left. @returns 0, or the milliseconds until one is left */
  take(caller: string, now: number): number {
    const waitMs = this.waitMs(caller, now);
    if (waitMs === 0) this.spend(caller, now);
    return waitMs;
  }

  /** 0 where one is left, or the milliseconds until one is. */
  waitMs(caller: string, now: number): number {
    const bucket = this.#buckets.get(caller);
    if (bucket === undefined) return 0;
    const waitMs = bucket.fullAt + this.#intervalMs - now - this.rate.windowMs;
    return waitMs > roundingMs ? waitMs : 0;
  }

  /** Takes one whether or not it is left. */
  spend(caller: string, now: number): void {
    const bucket = this.#buckets.get(caller) ?? { fullAt: now };
    bucket.fullAt = Math.max(bucket.fullAt, now) + this.#intervalMs;
    if (bucket === this.#last) return;
    this.#last = bucket;
    this.#buckets.delete(caller);
    this.#buckets.set(caller, bucket);
    if (this.#buckets.size > limitedCallersMax) {
      const [longestSilent] = this.#buckets.keys();
      this.#buckets.delete(longestSilent as string);
    }
  }

  /** How many are left. */
  left(caller: string, now: number): number {
    const missingMs = this.fullInMs(caller, now);
    return Math.max(0, Math.floor((this.rate.windowMs - missingMs + roundingMs) / this.#intervalMs));
  }

  /** Milliseconds until all are left. */
  fullInMs(caller: string, now: number): number {
    return Math.max(0, (this.#buckets.get(caller)?.fullAt ?? now) - now);
  }
}

interface Bucket {
  /** When the bucket will be full again. */
  fullAt: number;
}
