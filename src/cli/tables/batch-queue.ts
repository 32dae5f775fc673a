import { importedBytesAtOnceMax } from '../limits.ts';
import type { RowBatch } from './batches.ts';

/** Writes several batches at once. Two that share an id are written one after the other, in the order of the file. */
export class BatchQueue {
  readonly #write: (batch: RowBatch) => Promise<void>;
  readonly #atOnceMax: number;
  readonly #running = new Set<Promise<void>>();
  /** Of all batches that are being written. */
  readonly #ids = new Set<string>();
  #bytes = 0;
  /** The first line whose batch failed, and why. */
  #failure: { readonly line: number; readonly error: unknown } | undefined;

  constructor(atOnceMax: number, write: (batch: RowBatch) => Promise<void>) {
    this.#atOnceMax = atOnceMax;
    this.#write = write;
  }

  /** Resolves when there is room for the next batch. Throws the error of an earlier batch, after the others have ended. */
  async add(batch: RowBatch): Promise<void> {
    while (!this.#hasRoomFor(batch)) await Promise.race(this.#running);
    if (this.#failure !== undefined) await this.end();
    this.#bytes += batch.bytes;
    for (const id of batch.ids) this.#ids.add(id);
    const run = this.#run(batch).finally(() => {
      this.#running.delete(run);
      this.#bytes -= batch.bytes;
      for (const id of batch.ids) this.#ids.delete(id);
    });
    this.#running.add(run);
  }

  /** Resolves when all batches are written. Throws the error of the first line that failed, after the others have ended. */
  async end(): Promise<void> {
    await Promise.all(this.#running);
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #hasRoomFor({ ids, bytes }: RowBatch): boolean {
    if (this.#running.size === 0) return true;
    if (this.#running.size >= this.#atOnceMax || this.#bytes + bytes > importedBytesAtOnceMax) return false;
    return ids.isDisjointFrom(this.#ids);
  }

  async #run(batch: RowBatch): Promise<void> {
    try {
      await this.#write(batch);
    } catch (error) {
      const { line = 0 } = batch.rows[0] ?? {};
      if (this.#failure === undefined || line < this.#failure.line) this.#failure = { line, error };
    }
  }
}
