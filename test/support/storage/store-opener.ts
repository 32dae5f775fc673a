import { Committer } from '../../../src/storage/lmdb/committer.ts';
import { LastCommit } from '../../../src/storage/lmdb/last-commit.ts';
import { Reader } from '../../../src/storage/lmdb/reader.ts';
import { openStore, type Store } from '../../../src/storage/lmdb/store.ts';

/** What a process has of a store, without its threads: what it writes by and what it reads by, apart as in a process. */
export class StoreOpener {
  readonly reader: Reader;
  readonly committer: Committer;
  readonly #writing: Store;
  readonly #reading: Store;
  readonly #lastCommit: LastCommit;

  constructor(file: string) {
    this.#reading = openStore(file);
    this.#lastCommit = new LastCommit(file);
    this.reader = new Reader(this.#reading, this.#lastCommit);
    this.#writing = openStore(file);
    this.committer = new Committer(this.#writing);
  }

  get store(): Store {
    return this.#writing;
  }

  /** As the writer's thread does it. */
  readonly transact = <Result>(work: () => Result): Result => {
    try {
      return this.#writing.write(work);
    } catch (error) {
      this.committer.forget();
      throw error;
    }
  };

  compactAll(): void {
    // Twice: a folding that was under way ends first, and what came after its begin is folded next.
    for (let time = 0; time < 2; time++) {
      this.transact(() => this.committer.fold(Number.MAX_SAFE_INTEGER));
    }
  }

  async close(): Promise<void> {
    await this.#writing.close();
    await this.#reading.close();
    this.#lastCommit.close();
  }
}
