import { Committer } from '../../../src/storage/lmdb/log/committer.ts';
import { HeldSnapshots, LastCommit } from '../../../src/storage/lmdb/log/snapshots.ts';
import { Reader } from '../../../src/storage/lmdb/reader.ts';
import { openStore, type Store } from '../../../src/storage/lmdb/store.ts';

/** The reader and the writer of a store as a process has them, without its threads. */
export class StoreOpener {
  readonly #reader: Reader;
  readonly committer: Committer;
  readonly #writing: Store;
  readonly #reading: Store;
  readonly #lastCommit: LastCommit;

  constructor(file: string) {
    this.#reading = openStore(file);
    this.#lastCommit = new LastCommit(file);
    this.#reader = new Reader(this.#reading, this.#lastCommit, new HeldSnapshots(file));
    this.#writing = openStore(file);
    this.committer = new Committer(this.#writing);
  }

  /** Fresh: it sees every commit so far. */
  get reader(): Reader {
    this.#reader.refresh();
    return this.#reader;
  }

  get store(): Store {
    return this.#writing;
  }

  /** Runs a transaction as the writer thread does. */
  readonly transact = <Result>(work: () => Result): Result => {
    try {
      return this.#writing.write(work);
    } catch (error) {
      this.committer.forget();
      throw error;
    }
  };

  compactAll(): void {
    // Twice: the first call completes a compaction in progress, the second compacts the entries since its beginning.
    for (let time = 0; time < 2; time++) {
      this.transact(() => this.committer.compactIdle(Number.MAX_SAFE_INTEGER));
    }
  }

  async close(): Promise<void> {
    await this.#writing.close();
    await this.#reading.close();
    this.#lastCommit.close();
  }
}
