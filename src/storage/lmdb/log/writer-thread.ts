import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Batch } from './committer.ts';
import type { BatchOutcome, closeMessage, repairMessage, WriterData, WriterMessage } from './writer.ts';

/** The reports of the writer thread, except the outcomes of batches. */
interface WriterEvents {
  /** The state on disk is unknown: the process must end. */
  readonly lost: (error: Error) => void;
  /** A damaged value was found. The problem is one sentence for the log. */
  readonly damaged: (problem: string) => void;
  /** The answer to `repair`. */
  readonly repaired: () => void;
}

/** The main thread's side of the writer thread (`writer.ts`), which carries out one batch at a time. */
export class WriterThread {
  readonly #worker: Worker;
  readonly #events: WriterEvents;
  readonly #flushMsMax: number;
  /** Resolves the batch that is being written. */
  #resolveBatch: ((outcome: BatchOutcome) => void) | undefined;
  #isClosing = false;

  /** @param flushMsMax after this running time of the process a flush counts as hung, and `lost` is called */
  constructor(data: WriterData, flushMsMax: number, events: WriterEvents) {
    this.#events = events;
    this.#flushMsMax = flushMsMax;
    this.#worker = new Worker(new URL(`./writer${extname(import.meta.url)}`, import.meta.url), {
      workerData: data,
    });
    this.#worker.on('error', events.lost).on('exit', (status) => {
      if (!this.#isClosing) events.lost(new Error(`the writer's thread ended with status ${status}`));
    });
    this.#worker.on('message', (outcome: WriterMessage) => this.#handle(outcome));
  }

  /** Resolves when the batch is durable or has failed. Call it again only then. */
  async write(batch: Batch): Promise<BatchOutcome> {
    return new Promise<BatchOutcome>((resolve) => {
      const end = afterRunning(this.#flushMsMax, () => this.#events.lost(new Error('a flush hangs')));
      this.#resolveBatch = (outcome) => {
        end();
        resolve(outcome);
      };
      // Sent as text: copying a string costs a fraction of cloning the objects.
      this.#worker.postMessage(JSON.stringify(batch));
    });
  }

  /** Asks for a transaction that changes nothing: see `repairMessage`. */
  repair(): void {
    this.#worker.postMessage('repair' satisfies typeof repairMessage);
  }

  /** Compacts what time allows, and closes the thread's store. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const ended = once(this.#worker, 'exit');
    this.#worker.postMessage('close' satisfies typeof closeMessage);
    await ended;
  }

  #handle(outcome: WriterMessage): void {
    const { lost, damaged, repaired } = this.#events;
    if (outcome.kind === 'lost') lost(new Error(`the store could not be written: ${outcome.reason}`));
    else if (outcome.kind === 'damaged') damaged(outcome.problem);
    else if (outcome.kind === 'repaired') repaired();
    else this.#resolveBatch?.(outcome);
  }
}

/** Ticks of one wait. A pause of the process counts as one tick at most. */
const ticksPerWait = 15;

/**
 * Calls back after this process has run for a time. Time in which the process was stopped, its machine was suspended or its event loop was
 * busy does not count. After such a pause, a single timer would fire before the event that it waits for.
 *
 * @returns a function that ends the wait
 */
function afterRunning(ms: number, callback: () => void): () => void {
  let ticks = 0;
  // An interval does not make up for missed ticks.
  const interval = setInterval(
    () => {
      if (++ticks < ticksPerWait) return;
      clearInterval(interval);
      callback();
    },
    Math.ceil(ms / ticksPerWait),
  );
  return () => clearInterval(interval);
}
