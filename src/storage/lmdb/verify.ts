import type { Space } from '../engine.ts';
import { type Item, itemText } from '../item-text.ts';
import { changesIn, type Transaction } from './leaves.ts';
import { type Change, Memtable } from './memtable.ts';
import { passingRun, withChanges } from './merge.ts';
import {
  countOf,
  emptySortedRun,
  itemTextAt,
  type SortedRun,
  startOf,
  textBytes,
  textOf,
} from './sorted-run.ts';
import { bytesOf, endKey, firstKey, leafKey, openStore, type Store, spaceOf } from './store.ts';

export interface Verified {
  readonly items: number;
  /** One sentence for each problem; empty when the store is intact. */
  readonly problems: readonly string[];
}

/** Called from time to time with the items checked so far and the expected total. */
export type Progress = (items: number, total: number) => void;

/** Problems beyond this number are counted, but not reported. */
const problemsReportedMax = 100;

/**
 * Checks every leaf of one snapshot: the order of keys and ids, offsets, JSON text, and the count and bytes in the record
 * of each space. A service may run meanwhile. Throws SettingsError when the file is not a Counterfoil store.
 */
export async function verifyStore(file: string, progress: Progress = () => undefined): Promise<Verified> {
  const store = openStore(file);
  try {
    return new Verification(store, progress).run();
  } finally {
    await store.close();
  }
}

class Verification {
  readonly #store: Store;
  readonly #progress: Progress;
  readonly #memtable: Memtable;
  readonly #problems: string[] = [];
  #unreported = 0;
  #items = 0;
  #total = 0;

  constructor(store: Store, progress: Progress) {
    this.#store = store;
    this.#progress = progress;
    this.#memtable = new Memtable(store);
  }

  run(): Verified {
    const transaction = this.#store.root.useReadTransaction();
    try {
      this.#memtable.catchUp();
      const spaces = new Set<Space>(this.#memtable.changedSpaces);
      for (const { key } of this.#store.records.getRange({ start: firstKey, transaction }))
        spaces.add(key as Space);
      for (const space of spaces) this.#total += this.#memtable.record(space)?.count ?? 0;
      for (const space of spaces) this.#checkSpace(space, transaction);
      this.#checkStrays(spaces, transaction);
    } finally {
      transaction.done();
    }
    if (this.#unreported > 0) this.#problems.push(`and ${this.#unreported} more`);
    return { items: this.#items, problems: this.#problems };
  }

  #checkSpace(space: Space, transaction: Transaction): void {
    const changes = this.#memtable.changesOf(space);
    const found = { count: 0, textBytes: 0 };
    let applied = 0;
    let before = leafKey(space, '');
    const range = { start: before, end: endKey(space), transaction };
    for (const { key, value } of this.#store.leaves.getRange(range)) {
      // The library reads the next value into the same buffer.
      const run = Buffer.from(value);
      if (!this.#checkLeaf(space, run, before, key)) continue;
      const changed = changesIn(key, space, changes, applied);
      applied += changed.length;
      this.#count(changed.length === 0 ? [run] : withChanges(run, changed, passingRun), found);
      before = key;
    }
    this.#count(withChanges(emptySortedRun, changes.slice(applied) as readonly Change[], passingRun), found);
    const record = this.#memtable.record(space);
    for (const name of ['count', 'textBytes'] as const) {
      if (record?.[name] !== found[name]) {
        this.#report(
          `${space}: its record has ${name} ${record?.[name] ?? 'nothing'}, its items ${found[name]}`,
        );
      }
    }
  }

  #count(runs: readonly SortedRun[], found: { count: number; textBytes: number }): void {
    for (const run of runs) {
      found.count += countOf(run);
      found.textBytes += textBytes(run) - (countOf(run) - 1);
      this.#items += countOf(run);
    }
    this.#progress(this.#items, this.#total);
  }

  /** @returns whether its items can be counted */
  #checkLeaf(space: Space, run: SortedRun, before: string, key: string): boolean {
    const name = `${space}: the leaf up to ${JSON.stringify(key.slice(space.length + 1))}`;
    const broken = brokenOffset(run);
    if (broken !== undefined) {
      this.#report(`${name} ${broken}`);
      return false;
    }
    let items: readonly Item[];
    try {
      items = JSON.parse(`[${textOf(run).toString()}]`) as readonly Item[];
    } catch {
      this.#report(`${name} is not well-formed JSON`);
      return false;
    }
    if (items.length !== countOf(run))
      this.#report(`${name} holds ${items.length} items and counts ${countOf(run)}`);
    let last = before;
    for (const [index, { id, name: value }] of items.entries()) {
      const place = `${name}, item ${index}`;
      if (itemTextAt(run, index).toString() !== itemText(id, value))
        this.#report(`${place} is not where its offset says`);
      const itemKey = leafKey(space, bytesOf(String(id)));
      if (itemKey <= last || itemKey > key) this.#report(`${place} is out of order`);
      last = itemKey;
    }
    return true;
  }

  /** Reports leaves that do not belong to a known space. */
  #checkStrays(spaces: ReadonlySet<Space>, transaction: Transaction): void {
    const strays = new Set<string>();
    for (const key of this.#store.leaves.getKeys({ start: firstKey, transaction })) {
      const space = spaceOf(key);
      if (!spaces.has(space)) strays.add(space);
    }
    for (const space of strays) this.#report(`${space}: has leaves and no record`);
  }

  #report(problem: string): void {
    if (this.#problems.length < problemsReportedMax) this.#problems.push(problem);
    else this.#unreported++;
  }
}

function brokenOffset(run: SortedRun): string | undefined {
  if (run.length < emptySortedRun.length) return 'has no count';
  if (countOf(run) === 0) return 'is empty';
  if (textBytes(run) <= 0) return 'counts more items than it has room for';
  for (let index = 0; index < countOf(run); index++) {
    const start = startOf(run, index);
    const isAfterLast = index === 0 ? start === 0 : start > startOf(run, index - 1);
    if (!isAfterLast || start >= textBytes(run)) return `has a wrong offset at item ${index}`;
  }
  return undefined;
}
