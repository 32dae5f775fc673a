import { ServiceError } from '../../errors.ts';
import { commitBatchMax, commitQueueMax } from '../../limits.ts';

interface Waiting<Work, Result> {
  readonly work: Work;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets works that arrive while a flush is under way share the next one (group commit), in their order of arrival.
 * `flush` carries out a batch as one transaction and resolves, when it is durable, with one result per work.
 */
export class GroupCommit<Work, Result> {
  readonly #flush: (batch: readonly Work[]) => Promise<readonly Result[]>;
  #queue: Waiting<Work, Result>[] = [];
  #running: Promise<void> | undefined;

  constructor(flush: (batch: readonly Work[]) => Promise<readonly Result[]>) {
    this.#flush = flush;
  }

  /** Resolves after the flush that made the work durable; rejects with `overloaded` when the queue is full. */
  add(work: Work): Promise<Result> {
    if (this.#queue.length >= commitQueueMax) {
      return Promise.reject(new ServiceError('overloaded', { retryAfterSeconds: 1 }));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ work, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when all that was added before is flushed. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    // One turn of the event loop lets the requests that have already arrived join the first batch.
    await new Promise<void>((resolve) => setImmediate(resolve));
    // Of these the first half: while it is flushed the other half is ready, and while that is flushed the answered
    // callers send anew. All at once, disk and processor would wait for each other in turns.
    let count = Math.ceil(this.#queue.length / 2);
    while (this.#queue.length > 0) {
      await this.#carryOut(this.#queue.splice(0, Math.min(count, commitBatchMax)));
      count = this.#queue.length;
    }
    this.#running = undefined;
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
