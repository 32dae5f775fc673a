import { ServiceError } from '../../errors.ts';
import { commitBatchMax, commitBatchSizeMax, commitQueueMax, commitQueueSizeMax } from './limits.ts';

interface Waiting<Work, Result> {
  readonly work: Work;
  readonly size: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Group commit: works that arrive during a flush share the next one, in their order of arrival. `flush` executes a
 * batch as one transaction and, when it is durable, resolves with one result per work.
 */
export class GroupCommit<Work, Result> {
  readonly #flush: (batch: readonly Work[]) => Promise<readonly Result[]>;
  #queue: Waiting<Work, Result>[] = [];
  #queueSize = 0;
  #running: Promise<void> | undefined;

  constructor(flush: (batch: readonly Work[]) => Promise<readonly Result[]>) {
    this.#flush = flush;
  }

  /**
   * Resolves after the flush that made the work durable; rejects with `overloaded` when the queue is full.
   *
   * @param size in characters; the queue and each flush are bounded by count and by size
   */
  add(work: Work, size: number): Promise<Result> {
    if (this.#queue.length >= commitQueueMax || this.#queueSize >= commitQueueSizeMax) {
      return Promise.reject(new ServiceError('overloaded', { retryAfterSeconds: 1 }));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ work, size, resolve, reject });
      this.#queueSize += size;
      this.#running ??= this.#run();
    });
  }

  /** Resolves when all works added before are flushed. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    // One turn of the event loop lets the requests that have already arrived join the first batch.
    await new Promise<void>((resolve) => setImmediate(resolve));
    // Only half of them is flushed at first. The other half is ready for the next flush, during which the first callers
    // send new requests. In a single batch, disk and CPU would take turns waiting for each other.
    let count = Math.ceil(this.#queue.length / 2);
    while (this.#queue.length > 0) {
      await this.#carryOut(this.#take(Math.min(count, commitBatchMax)));
      count = this.#queue.length;
    }
    this.#running = undefined;
  }

  /** The oldest works: up to `count`, fewer when they are large, but at least one. */
  #take(count: number): readonly Waiting<Work, Result>[] {
    let taken = 0;
    let size = 0;
    while (taken < count && (taken === 0 || size + (this.#queue[taken]?.size ?? 0) <= commitBatchSizeMax)) {
      size += this.#queue[taken++]?.size ?? 0;
    }
    this.#queueSize -= size;
    return this.#queue.splice(0, taken);
  }

  async #carryOut(batch: readonly Waiting<Work, Result>[]): Promise<void> {
    try {
      const results = await this.#flush(batch.map((waiting) => waiting.work));
      batch.forEach((waiting, index) => {
        waiting.resolve(results[index] as Result);
      });
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    }
  }
}
