import { Compaction } from '../log/compaction.ts';
import { appendEntry, writeArchiveMark } from '../log/journal.ts';
import { Memtable } from '../log/memtable.ts';
import { openStore, type Store } from '../store.ts';
import { clearFailure, clearLease } from './archive-state.ts';
import { replaySizeMax } from './limits.ts';
import type { CommitLine } from './segment.ts';

/** Makes the commits of segments in a store that nobody else has open, with few transactions: a killed one has to begin anew. */
export class Replay {
  readonly #store: Store;
  readonly #memtable: Memtable;
  readonly #compaction: Compaction;
  #waiting: CommitLine[] = [];
  #waitingSize = 0;

  constructor(file: string) {
    this.#store = openStore(file);
    this.#memtable = new Memtable(this.#store);
    this.#compaction = new Compaction(this.#store, this.#memtable);
    // Its continuous backup is that of the store that it was copied from.
    this.#store.write(() => {
      writeArchiveMark(this.#store, undefined);
      clearLease(this.#store);
      clearFailure(this.#store);
    });
  }

  /** @param commits those that follow, in their order; @param size in characters, about */
  add(commits: readonly CommitLine[], size: number): void {
    // One by one: there may be more than a call takes arguments.
    for (const commit of commits) this.#waiting.push(commit);
    this.#waitingSize += size;
    if (this.#waitingSize >= replaySizeMax) this.#make();
  }

  /** Makes what is left, and closes the store. */
  async finish(): Promise<void> {
    if (this.#waiting.length > 0) this.#make();
    await this.close();
  }

  async close(): Promise<void> {
    this.#waiting = [];
    await this.#store.close();
  }

  #make(): void {
    const commits = this.#waiting;
    this.#waiting = [];
    this.#waitingSize = 0;
    this.#store.write(() => {
      this.#memtable.catchUp();
      let lastAt = 0;
      for (const [commit, at, spaces] of commits) {
        this.#memtable.append(commit, 0, 0);
        this.#memtable.apply(commit, spaces);
        lastAt = at;
      }
      this.#compaction.begin();
      this.#compaction.step(Infinity);
      // All of them are in the leaves; an entry keeps the number of the last.
      const { last } = this.#memtable;
      appendEntry(this.#store, last, { first: last, spaces: '[]', at: lastAt });
    });
  }
}
