import { ServiceError } from '../../../errors.ts';
import { callerQueueSizeMax, commitQueueMax, commitQueueSizeMax, writeCost } from '../limits.ts';
import { CommitLanes, type Queued, type Taken } from './commit-lanes.ts';

/** How much work is queued, and for whom. */
interface Load {
  /** In characters. */
  readonly size: number;
  /** The number of its writes. */
  readonly writes: number;
  /** The caller of the work; undefined for the service itself. */
  readonly caller: string | undefined;
}

interface Waiting<Work, Result> extends Queued, Load {
  readonly work: Work;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** The service's own work. No caller has this name. */
const service = '';

/**
 * Group commit: work that arrives during a flush shares the next one. Work of one caller keeps its order, and `CommitLanes` assigns it
 * to flushes. `flush` executes a batch as one transaction. When the transaction is durable, it resolves with one result for each work.
 */
export class GroupCommit<Work, Result> {
  readonly #flush: (batch: readonly Work[]) => Promise<readonly Result[]>;
  readonly #lanes = new CommitLanes<Waiting<Work, Result>>();
  /** The queued characters of each caller. */
  readonly #sizes = new Map<string, number>();
  #queueSize = 0;
  #running: Promise<void> | undefined;
  /** Ends a pause early. */
  #wake: (() => void) | undefined;

  constructor(flush: (batch: readonly Work[]) => Promise<readonly Result[]>) {
    this.#flush = flush;
  }

  /**
   * Resolves after the flush that made the work durable. Rejects with `overloaded` if the queue is full, or the caller's part of it: the
   * rest is for the other callers and the service itself.
   */
  add(work: Work, load: Load): Promise<Result> {
    if (this.#isFull(load.caller)) {
      return Promise.reject(new ServiceError('overloaded', { retryAfterSeconds: 1 }));
    }
    return new Promise((resolve, reject) => {
      const cost = load.size + load.writes * writeCost;
      this.#lanes.add(load.caller ?? service, { ...load, cost, work, resolve, reject });
      this.#resize(load, 1);
      this.#wake?.();
      this.#running ??= this.#run();
    });
  }

  /** Resolves when all work that was added before is flushed. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  #isFull(caller: string | undefined): boolean {
    if (this.#lanes.count >= commitQueueMax || this.#queueSize >= commitQueueSizeMax) return true;
    return caller !== undefined && (this.#sizes.get(caller) ?? 0) >= callerQueueSizeMax;
  }

  #resize({ caller = service, size }: Load, sign: 1 | -1): void {
    this.#queueSize += sign * size;
    const left = (this.#sizes.get(caller) ?? 0) + sign * size;
    if (left > 0) this.#sizes.set(caller, left);
    else this.#sizes.delete(caller);
  }

  async #run(): Promise<void> {
    // One turn of the event loop lets the requests that have already arrived join the first batch.
    await new Promise<void>((resolve) => setImmediate(resolve));
    // The first flush takes only half of the work. The other half is ready for the next flush, during which the first callers
    // send new requests. With a single batch, disk and CPU would take turns waiting for each other.
    let count = Math.ceil(this.#lanes.count / 2);
    while (this.#lanes.count > 0) {
      const taken = this.#lanes.take(count);
      if (taken.items.length > 0) await this.#carryOut(taken);
      else await this.#pause(this.#lanes.restMs);
      count = this.#lanes.count;
    }
    this.#running = undefined;
  }

  /** Resolves after this time, or when work is added. */
  async #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#wake = resolve;
    await promise;
    this.#wake = undefined;
    clearTimeout(timer);
  }

  async #carryOut(taken: Taken<Waiting<Work, Result>>): Promise<void> {
    const began = performance.now();
    for (const waiting of taken.items) this.#resize(waiting, -1);
    try {
      const results = await this.#flush(taken.items.map((waiting) => waiting.work));
      taken.items.forEach((waiting, index) => {
        waiting.resolve(results[index] as Result);
      });
    } catch (error) {
      for (const waiting of taken.items) waiting.reject(error);
    }
    this.#lanes.flushed(taken, performance.now() - began);
  }
}
