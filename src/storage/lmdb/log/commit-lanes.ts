import {
  callerActiveMs,
  callerShareMax,
  commitBatchCostMax,
  commitBatchMax,
  largeRestMsMax,
  largeShareCostMax,
} from '../limits.ts';

/** An item that waits for a flush. */
export interface Queued {
  /** About how much work it is: see `writeCost` in limits.ts. */
  readonly cost: number;
}

/** The queue of one caller, the oldest item first. */
interface Lane<Item> {
  readonly queue: Item[];
  cost: number;
  /** When the caller last had an item in the queue or in a flush, in milliseconds of `performance.now()`. */
  activeAt: number;
}

/** The items of the next flush. */
export interface Taken<Item> {
  readonly items: readonly Item[];
  /** Whether the flush is for one caller with more than its share: see `CommitLanes`. */
  readonly isLarge: boolean;
  readonly lanes: readonly Lane<Item>[];
}

/**
 * A queue for flushes, divided by caller, so that a caller with much to write does not delay the others. Each flush takes a share of
 * every caller's queue. A queue that exceeds its share gets large flushes of its own. Each of them waits for as long as the previous large
 * flush took, but at most `largeRestMsMax`. So the other callers have half of the time. A caller that is alone has all of it.
 *
 * The items of one caller keep their order.
 */
export class CommitLanes<Item extends Queued> {
  /** By caller, sorted by the last flush of each. */
  readonly #lanes = new Map<string, Lane<Item>>();
  #count = 0;
  #wasLarge = false;
  /** When the next large flush may begin, in milliseconds of `performance.now()`. */
  #restsUntil = 0;

  get count(): number {
    return this.#count;
  }

  /** How long the remaining items must wait after `take` returned nothing, in milliseconds. */
  get restMs(): number {
    return Math.max(0, this.#restsUntil - performance.now());
  }

  add(caller: string, item: Item): void {
    let lane = this.#lanes.get(caller);
    if (lane === undefined) {
      lane = { queue: [], cost: 0, activeAt: 0 };
      this.#lanes.set(caller, lane);
    }
    lane.queue.push(item);
    lane.cost += item.cost;
    lane.activeAt = performance.now();
    this.#count++;
  }

  /**
   * Takes the items of the next flush; nothing if all queued items must still wait.
   *
   * @param countMax takes at most this many items, and at most `commitBatchMax`
   */
  take(countMax: number): Taken<Item> {
    const now = performance.now();
    const count = Math.min(countMax, commitBatchMax);
    this.#forgetIdle(now);
    if (this.#lanes.size === 1) return this.#taken(this.#takeAlone(count), false);
    const large = now < this.#restsUntil ? undefined : this.#nextLarge();
    const shares = large === undefined || this.#wasLarge ? this.#takeShares(count) : [];
    if (shares.length > 0 || large === undefined) return this.#taken(shares, false);
    return this.#taken(this.#takeLarge(...large), true);
  }

  /** Call it after the flush. @param ms how long the flush took */
  flushed({ isLarge, lanes }: Taken<Item>, ms: number): void {
    const now = performance.now();
    for (const lane of lanes) lane.activeAt = now;
    if (isLarge) this.#restsUntil = now + Math.min(ms, largeRestMsMax);
  }

  #taken(parts: readonly Part<Item>[], isLarge: boolean): Taken<Item> {
    const items = parts.flatMap(({ items }) => items);
    this.#count -= items.length;
    this.#wasLarge = isLarge;
    return { items, isLarge, lanes: parts.map(({ lane }) => lane) };
  }

  #forgetIdle(now: number): void {
    for (const [caller, { queue, activeAt }] of this.#lanes)
      if (queue.length === 0 && now - activeAt > callerActiveMs) this.#lanes.delete(caller);
  }

  #takeAlone(count: number): Part<Item>[] {
    const [lane] = this.#lanes.values();
    return lane === undefined
      ? []
      : [takeFrom(lane, { count, costMax: commitBatchCostMax, isOneTaken: true })];
  }

  #takeShares(count: number): Part<Item>[] {
    const parts: Part<Item>[] = [];
    let left = count;
    for (const [caller, lane] of [...this.#lanes]) {
      if (left === 0) break;
      const part = takeFrom(lane, { count: left, costMax: callerShareMax, isOneTaken: false });
      if (part.items.length === 0) continue;
      left -= part.items.length;
      parts.push(part);
      this.#moveToEnd(caller, lane);
    }
    return parts;
  }

  #moveToEnd(caller: string, lane: Lane<Item>): void {
    this.#lanes.delete(caller);
    this.#lanes.set(caller, lane);
  }

  /** Of the callers with more than a share, the one whose last flush is longest ago. */
  #nextLarge(): readonly [string, Lane<Item>] | undefined {
    for (const each of this.#lanes) if (each[1].cost > callerShareMax) return each;
    return undefined;
  }

  #takeLarge(caller: string, lane: Lane<Item>): Part<Item>[] {
    this.#moveToEnd(caller, lane);
    return [takeFrom(lane, { count: commitBatchMax, costMax: largeShareCostMax, isOneTaken: true })];
  }
}

interface Part<Item> {
  readonly lane: Lane<Item>;
  readonly items: readonly Item[];
}

interface TakeBounds {
  readonly count: number;
  readonly costMax: number;
  /** Whether the first item is taken even if it costs more. */
  readonly isOneTaken: boolean;
}

/** Takes the oldest items. */
function takeFrom<Item extends Queued>(
  lane: Lane<Item>,
  { count, costMax, isOneTaken }: TakeBounds,
): Part<Item> {
  let taken = 0;
  let cost = 0;
  for (const item of lane.queue) {
    const isWithin = cost + item.cost <= costMax || (isOneTaken && taken === 0);
    if (taken === count || !isWithin) break;
    cost += item.cost;
    taken++;
  }
  lane.cost -= cost;
  return { lane, items: lane.queue.splice(0, taken) };
}
