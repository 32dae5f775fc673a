import { itemText } from '../../item-text.ts';
import {
  itemCount,
  itemEnd,
  itemStart,
  itemTextAt,
  runText,
  type SortedRun,
  search,
  wordBytes,
} from '../file/sorted-run.ts';
import type { ItemChange } from './memtable.ts';

export const comma = 0x2c;

/** The size limit of one run, in bytes with its offsets; a larger item gets a separate run. */
export interface RunSize {
  readonly bytesMax: number;
  /** Whether all runs but the last are filled; otherwise items spread evenly, so that each run has room to grow. */
  readonly filled: boolean;
}

/** For runs that are not stored: only the 16-bit offsets limit their size. */
export const passingRun: RunSize = { bytesMax: 0xffff, filled: true };

/**
 * The items of a run with changes applied, in as many runs as needed; none if no item is left.
 *
 * @param changes sorted by id, each id once
 */
export function withChanges(run: SortedRun, changes: readonly ItemChange[], size: RunSize): SortedRun[] {
  const items = new Items();
  // There are few changes, so the run is copied in stretches between them.
  let copied = 0;
  for (const { id, value } of changes) {
    const { index, found } = search(run, Buffer.from(id), copied);
    items.addFrom(run, copied, index);
    copied = found ? index + 1 : index;
    if (value !== undefined) items.add(Buffer.from(itemText(id, value)));
  }
  items.addFrom(run, copied, itemCount(run));
  return items.inRuns(size);
}

/** The items of two runs; the second run sorts after the first. */
export function joined(first: SortedRun, second: SortedRun, size: RunSize): SortedRun[] {
  const items = new Items();
  items.addFrom(first, 0, itemCount(first));
  items.addFrom(second, 0, itemCount(second));
  return items.inRuns(size);
}

/** The text of the items from `first` up to `end`, exclusive. */
export function textBetween(run: SortedRun, first: number, end: number): Buffer {
  if (first === 0 && end === itemCount(run)) return runText(run);
  return first < end ? run.subarray(itemStart(run, first), itemEnd(run, end - 1)) : run.subarray(0, 0);
}

/** Sorted items, as stretches of text from other buffers. */
class Items {
  readonly #stretches: Buffer[] = [];
  /** Start offsets of the items in the whole text; they may exceed 16 bits until it is cut into runs. */
  readonly #starts: number[] = [];
  #bytes = 0;

  add(text: Buffer): void {
    this.#starts.push(this.#append(text));
  }

  addFrom(run: SortedRun, first: number, end: number): void {
    if (first >= end) return;
    if (end === first + 1) {
      this.add(itemTextAt(run, first));
      return;
    }
    const start = itemStart(run, first);
    const shift = this.#append(textBetween(run, first, end)) - start;
    for (let index = first; index < end; index++) this.#starts.push(itemStart(run, index) + shift);
  }

  inRuns(size: RunSize): SortedRun[] {
    const text = this.#text();
    const cuts = this.#cuts(size);
    return cuts.map((first, n) => this.#slice(text, first, cuts[n + 1] ?? this.#starts.length));
  }

  /** @returns the offset of the stretch in the whole text */
  #append(text: Buffer): number {
    const at = this.#stretches.length === 0 ? 0 : this.#bytes + 1;
    this.#stretches.push(text);
    this.#bytes = at + text.length;
    return at;
  }

  #text(): Buffer {
    const text = Buffer.allocUnsafe(this.#bytes);
    let at = 0;
    for (const stretch of this.#stretches) {
      if (at > 0) text[at++] = comma;
      at += stretch.copy(text, at);
    }
    return text;
  }

  /** The index of each run's first item. */
  #cuts({ bytesMax, filled }: RunSize): number[] {
    const starts = this.#starts;
    if (starts.length === 0) return [];
    const room = bytesMax - wordBytes;
    const bytes = this.#bytes + 1 + wordBytes * starts.length;
    const target = filled ? room : bytes / Math.ceil(bytes / room);
    const cuts = [0];
    let runBytes = 0;
    for (let index = 0; index < starts.length; index++) {
      const itemBytes = (starts[index + 1] ?? this.#bytes + 1) - (starts[index] as number) + wordBytes;
      if (runBytes > 0 && (runBytes >= target || runBytes + itemBytes > room)) {
        cuts.push(index);
        runBytes = 0;
      }
      runBytes += itemBytes;
    }
    return cuts;
  }

  #slice(text: Buffer, first: number, end: number): SortedRun {
    const from = this.#starts[first] as number;
    const to = (this.#starts[end] ?? text.length + 1) - 1;
    const count = end - first;
    const run = Buffer.allocUnsafe(to - from + wordBytes * (count + 1));
    text.copy(run, 0, from, to);
    let at = to - from;
    for (let index = first; index < end; index++) {
      at = run.writeUInt16LE((this.#starts[index] as number) - from, at);
    }
    run.writeUInt16LE(count, at);
    return run;
  }
}
