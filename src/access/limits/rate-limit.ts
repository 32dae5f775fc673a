/** A rate: a bucket of `quota` tokens that refills evenly within `windowMs`. */
export interface Rate {
  readonly quota: number;
  readonly windowMs: number;
}

/** More than the rounding error of a sum of doubles, because no request may wait for a rounding error. */
const roundingMs = 0.001;

/**
 * Limits the rate of each caller by the generic cell rate algorithm (ITU-T I.371). It stores one number per caller:
 * when the bucket will be full again. There are no timers, and no borders between windows at which twice as many
 * requests could pass. The counts are in the memory of this process. Beyond `limitedCallersMax`, the least recently
 * seen caller is dropped.
 */
export class RateLimit {
  readonly rate: Rate;
  readonly #intervalMs: number;
  /** Ordered by last use, least recent first. */
  readonly #buckets = new Map<string, Bucket>();
  #last: Bucket | undefined;

  constructor(rate: Rate) {
    this.rate = rate;
    this.#intervalMs = rate.windowMs / rate.quota;
  }

  /** Takes a token if one is left. @returns 0, or the milliseconds until a token is left */
  take(caller: string, now: number): number {
    const waitMs = this.waitMs(caller, now);
    if (waitMs === 0) this.spend(caller, now);
    return waitMs;
  }

  /** @returns 0 if a token is left, or the milliseconds until one is left */
  waitMs(caller: string, now: number): number {
    const bucket = this.#buckets.get(caller);
    if (bucket === undefined) return 0;
    const waitMs = bucket.fullAt + this.#intervalMs - now - this.rate.windowMs;
    return waitMs > roundingMs ? waitMs : 0;
  }

  /** Takes a token even if none is left. */
  spend(caller: string, now: number): void {
    const bucket = this.#buckets.get(caller) ?? { fullAt: now };
    bucket.fullAt = Math.max(bucket.fullAt, now) + this.#intervalMs;
    if (bucket === this.#last) return;
    this.#last = bucket;
    this.#buckets.delete(caller);
    this.#buckets.set(caller, bucket);
    if (this.#buckets.size > limitedCallersMax) {
      const [leastRecent] = this.#buckets.keys();
      this.#buckets.delete(leastRecent as string);
    }
  }

  /** Tokens that are left. */
  left(caller: string, now: number): number {
    const missingMs = this.fullInMs(caller, now);
    return Math.max(0, Math.floor((this.rate.windowMs - missingMs + roundingMs) / this.#intervalMs));
  }

  /** Milliseconds until the bucket is full. */
  fullInMs(caller: string, now: number): number {
    return Math.max(0, (this.#buckets.get(caller)?.fullAt ?? now) - now);
  }
}

interface Bucket {
  /** When the bucket will be full again. */
  fullAt: number;
}

/** Limits of access. Each name ends with its unit; each comment gives the reason for the value. */

/** Callers that a limit counts, in one or two megabytes. Beyond it, the least recently seen caller is dropped. */
export const limitedCallersMax = 10_000;
