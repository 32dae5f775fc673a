import { closeSync, openSync } from 'node:fs';
import type { Space } from '../../engine.ts';
import { verifiedLeavesPerPage } from '../limits.ts';
import { changesIn, type Transaction } from '../log/leaves.ts';
import { Memtable } from '../log/memtable.ts';
import { passingRun, withChanges } from '../log/merge.ts';
import { openStoreToRead, type SpaceRecord, type Store } from '../store.ts';
import { endKey, firstKey, leafKey, parseSpace } from './databases.ts';
import { checkFile, emptyProblem } from './format.ts';
import { readHead } from './pages.ts';
import { emptySortedRun, itemCount, type SortedRun, textBytes } from './sorted-run.ts';
import { brokenOffset, checkLeaf, journalProblem, recordProblem } from './verify-values.ts';

export interface Verified {
  readonly items: number;
  /** One sentence for each problem; empty if the store is intact. */
  readonly problems: readonly string[];
}

/** Called after each page with the items checked so far and the expected total. */
export type Progress = (items: number, total: number) => void;

/** Problems beyond this number are counted, but not reported. */
const problemsReportedMax = 100;

/** Sums over the items of a space. */
interface ItemSums {
  count: number;
  textBytes: number;
}

interface CheckedPage {
  /** The key of its last leaf; undefined at the end of the space. */
  readonly next: string | undefined;
  /** The record of the space in its snapshot. */
  readonly record: SpaceRecord | undefined;
}

/** One run of the checks on an open store. See `verifyStore`. */
class Verification {
  readonly #store: Store;
  readonly #file: number;
  readonly #progress: Progress;
  readonly #memtable: Memtable;
  readonly #problems: string[] = [];
  #unreported = 0;
  #isJournalWhole = true;
  readonly #brokenRecords = new Set<Space>();
  #items = 0;
  #total = 0;

  /** @param file the store's file, open for reading */
  constructor(store: Store, file: number, progress: Progress = () => undefined) {
    this.#store = store;
    this.#file = file;
    this.#progress = progress;
    this.#memtable = new Memtable(store);
  }

  run(): Verified {
    const spaces = this.#inSnapshot(() => {
      const found = this.#memtable.spaces();
      for (const space of found) this.#total += this.#readRecord(space)?.count ?? 0;
      return found;
    });
    for (const space of spaces) this.#checkSpace(space);
    this.#checkStrays();
    if (this.#unreported > 0) this.#problems.push(`and ${this.#unreported} more`);
    return { items: this.#items, problems: this.#problems };
  }

  /** Runs the work in a new snapshot, and brings the memtable up to date with it. */
  #inSnapshot<Result>(work: (transaction: Transaction) => Result): Result {
    this.#store.root.resetReadTxn();
    const transaction = this.#store.root.useReadTransaction();
    try {
      if (this.#isJournalWhole) this.#catchUp();
      return work(transaction);
    } finally {
      transaction.done();
    }
  }

  #catchUp(): void {
    const problem = journalProblem(this.#store, this.#memtable.last + 1);
    if (problem === undefined) this.#memtable.catchUp();
    else {
      this.#isJournalWhole = false;
      this.#report(problem);
    }
  }

  #checkSpace(space: Space): void {
    const began = this.#lastTransaction();
    const sums: ItemSums = { count: 0, textBytes: 0 };
    let page: CheckedPage = { next: leafKey(space, ''), record: undefined };
    let pages = 0;
    while (page.next !== undefined) {
      const { next } = page;
      page = this.#inSnapshot((transaction) => this.#checkPage(space, next, sums, transaction));
      pages++;
      this.#progress(this.#items + sums.count, this.#total);
    }
    // One page is one snapshot. Sums over several snapshots count only if nothing was written meanwhile.
    if (pages === 1 || this.#lastTransaction() === began) this.#compare(space, sums, page.record);
    else this.#inSnapshot((transaction) => this.#count(space, transaction));
  }

  #lastTransaction(): bigint | undefined {
    return readHead(this.#file)?.transaction;
  }

  /** Checks some leaves after a key, and adds their items to the sums. */
  #checkPage(space: Space, from: string, sums: ItemSums, transaction: Transaction): CheckedPage {
    const changes = this.#memtable.changesOf(space);
    const record = this.#readRecord(space);
    // Begins with the last leaf of the previous page: if that leaf is gone, its items are in the next one.
    const range = { start: from, end: endKey(space), limit: verifiedLeavesPerPage + 1, transaction };
    const applied = changes.findIndex(({ idBytes }) => leafKey(space, idBytes) > from);
    let next = applied < 0 ? changes.length : applied;
    let before = leafKey(space, '');
    let leaves = 0;
    for (const { key, content, isIntact } of this.#store.leaves.inspect(range)) {
      leaves++;
      if (key !== from) {
        if (!isIntact) this.#report(`${this.#store.leaves.describe(key)} has a wrong checksum`);
        // The library reads the next value into the same buffer.
        const run = Buffer.from(content);
        const changed = changesIn(key, space, changes, next);
        next += changed.length;
        if (checkLeaf({ space, run, before, key }, (problem) => this.#report(problem)))
          addRuns(sums, changed.length === 0 ? [run] : withChanges(run, changed, passingRun));
      }
      before = key;
    }
    if (leaves > verifiedLeavesPerPage) return { next: before, record };
    addRuns(sums, withChanges(emptySortedRun, changes.slice(next), passingRun));
    return { next: undefined, record };
  }

  /** Sums up a space in one snapshot. Reads only the end of each leaf, which takes a fraction of the time of the checks. */
  #count(space: Space, transaction: Transaction): void {
    const changes = this.#memtable.changesOf(space);
    const sums: ItemSums = { count: 0, textBytes: 0 };
    let next = 0;
    const range = { start: leafKey(space, ''), end: endKey(space), transaction };
    for (const { key, content } of this.#store.leaves.inspect(range)) {
      const changed = changesIn(key, space, changes, next);
      next += changed.length;
      if (brokenOffset(content) !== undefined) continue;
      addRuns(
        sums,
        changed.length === 0 ? [content] : withChanges(Buffer.from(content), changed, passingRun),
      );
    }
    addRuns(sums, withChanges(emptySortedRun, changes.slice(next), passingRun));
    this.#compare(space, sums, this.#readRecord(space));
  }

  #compare(space: Space, sums: ItemSums, record: SpaceRecord | undefined): void {
    this.#items += sums.count;
    // Without the whole journal the state of a space is unknown.
    if (!this.#isJournalWhole || this.#brokenRecords.has(space)) return;
    // The space was removed while it was verified.
    if (record === undefined && sums.count === 0) return;
    for (const name of ['count', 'textBytes'] as const) {
      if (record?.[name] !== sums[name])
        this.#report(
          `${space}: its record has ${name} ${record?.[name] ?? 'nothing'}, its items ${sums[name]}`,
        );
    }
  }

  /** Undefined if there is no record. Reports one that cannot be read. */
  #readRecord(space: Space): SpaceRecord | undefined {
    if (this.#brokenRecords.has(space)) return undefined;
    const problem = recordProblem(this.#store, space);
    if (problem === undefined) return this.#memtable.record(space);
    this.#brokenRecords.add(space);
    this.#report(problem);
    return undefined;
  }

  /** Reports leaves that do not belong to a known space. */
  #checkStrays(): void {
    const { leaves, records } = this.#store;
    let start: string | undefined = firstKey;
    while (start !== undefined) {
      const from: string = start;
      start = this.#inSnapshot((transaction) => {
        const [key] = leaves.getKeys({ start: from, limit: 1, transaction });
        if (key === undefined) return undefined;
        const space = parseSpace(key);
        const isKnown =
          records.inspectOne(space) !== undefined ||
          this.#memtable.record(space) !== undefined ||
          this.#memtable.isRemoved(space);
        if (!isKnown) this.#report(`${space}: has leaves and no record`);
        return endKey(space);
      });
    }
  }

  #report(problem: string): void {
    if (this.#problems.length < problemsReportedMax) this.#problems.push(problem);
    else this.#unreported++;
  }
}

function addRuns(sums: ItemSums, runs: readonly SortedRun[]): void {
  for (const run of runs) {
    sums.count += itemCount(run);
    sums.textBytes += textBytes(run) - (itemCount(run) - 1);
  }
}

/**
 * Checks every leaf, the journal and the records: every checksum, every byte of the text, the order of keys and ids, offsets, and the
 * count and bytes in the record of each space. Writes nothing to the store. A service may run meanwhile: each page of leaves is read in
 * its own snapshot, so that no snapshot keeps the service from reusing old pages.
 *
 * Throws SettingsError if the file is not a Counterfoil store, and what LMDB throws if the file cannot be read.
 */
export async function verifyStore(file: string, progress: Progress = () => undefined): Promise<Verified> {
  if (checkFile(file).isEmpty) {
    const problem = emptyProblem(file);
    return { items: 0, problems: problem === undefined ? [] : [`${file} ${problem}`] };
  }
  const store = openStoreToRead(file);
  const descriptor = openSync(file, 'r');
  try {
    return new Verification(store, descriptor, progress).run();
  } finally {
    await store.close();
    closeSync(descriptor);
  }
}
