import { setTimeout as sleep } from 'node:timers/promises';
import type { Period } from '../processor.ts';
import { inTime } from './outcomes.ts';

export interface Listed<Found> {
  /** Undefined if another system made the entry. */
  readonly paymentId: string | undefined;
  readonly found: Found;
}

type Result<Found> =
  | { readonly kind: 'found'; readonly found: Found }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown'; readonly detail: string };

interface Sought<Found> extends Period {
  readonly paymentId: string;
  best: Found | undefined;
  isDone: boolean;
  readonly resolve: (result: Result<Found>) => void;
}

/** Calls within this time share one listing; recovery claims its charges within a fraction of it. */
const gatherMs = 50;

interface ListingOptions<Found> {
  /** Yields all entries of a period. Throws when the list cannot be read to its end. */
  readonly list: (period: Period) => AsyncIterable<Listed<Found>>;
  /**
   * Among several entries of one payment, the one with the highest weight counts: 2 settles the look-up, 1 is undecided,
   * 0 has failed and may be followed by one that succeeds.
   */
  readonly weight: (found: Found) => 0 | 1 | 2;
  readonly errorDetail: (error: unknown) => string;
}

/**
 * Looks up many payments in one pass over a processor's list, one pass at a time. After an outage, a listing per payment
 * would read the same pages hundreds of times and exceed the processor's rate limit.
 */
export class SharedListing<Found> {
  readonly #options: ListingOptions<Found>;
  #waiting: Sought<Found>[] = [];
  #isReading = false;

  constructor(options: ListingOptions<Found>) {
    this.#options = options;
  }

  /** @param period the period in which the payment may have been made */
  find(paymentId: string, { from, until }: Period, timeoutMs: number): Promise<Result<Found>> {
    const { promise, resolve } = Promise.withResolvers<Result<Found>>();
    const entry: Sought<Found> = { paymentId, from, until, best: undefined, isDone: false, resolve };
    this.#waiting.push(entry);
    if (!this.#isReading) void this.#readAll();
    const found = inTime<Result<Found>>(promise, timeoutMs, {
      kind: 'unknown',
      detail: 'no look-up in time',
    });
    // Stop reading once every look-up has timed out.
    return found.finally(() => {
      entry.isDone = true;
    });
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    while (this.#waiting.length > 0) {
      await sleep(gatherMs, undefined, { ref: false });
      const all = this.#waiting.filter(({ isDone }) => !isDone);
      this.#waiting = [];
      for (const group of overlapping(all)) await this.#read(group);
    }
    this.#isReading = false;
  }

  async #read(group: readonly Sought<Found>[]): Promise<void> {
    const { list, weight, errorDetail } = this.#options;
    const byId = Map.groupBy(group, ({ paymentId }) => paymentId);
    const period = {
      from: Math.min(...group.map(({ from }) => from)),
      until: Math.max(...group.map(({ until }) => until)),
    };
    try {
      for await (const { paymentId, found } of list(period)) {
        for (const sought of byId.get(paymentId ?? '') ?? []) {
          if (sought.best === undefined || weight(found) >= weight(sought.best)) sought.best = found;
          if (weight(found) === 2) settle(sought, { kind: 'found', found });
        }
        if (group.every(({ isDone }) => isDone)) return;
      }
      for (const sought of group)
        settle(
          sought,
          sought.best === undefined ? { kind: 'absent' } : { kind: 'found', found: sought.best },
        );
    } catch (error) {
      for (const sought of group) settle(sought, { kind: 'unknown', detail: errorDetail(error) });
    }
  }
}

function settle<Found>(sought: Sought<Found>, result: Result<Found>): void {
  if (sought.isDone) return;
  sought.isDone = true;
  sought.resolve(result);
}

/** Groups look-ups with overlapping periods, so that the time between two outages is not read. */
function overlapping<Found>(all: readonly Sought<Found>[]): Sought<Found>[][] {
  const groups: { until: number; readonly members: Sought<Found>[] }[] = [];
  for (const sought of all.toSorted((a, b) => a.from - b.from)) {
    const last = groups.at(-1);
    if (last !== undefined && sought.from <= last.until) {
      last.members.push(sought);
      last.until = Math.max(last.until, sought.until);
    } else groups.push({ until: sought.until, members: [sought] });
  }
  return groups.map(({ members }) => members);
}
