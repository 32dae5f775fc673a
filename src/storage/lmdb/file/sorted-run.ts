/**
 * A run: items sorted by the UTF-8 bytes of their ids, as the exact JSON text of a response, joined by commas. The
 * offsets of the items follow the text (a slotted page):
 *
 *     {"id":"a","name":"Alpha"},{"id":"b","name":"Beta"} | 0, 26 | 2
 *     text                                               | offsets, count: 16 bits each, little-endian
 *
 * A binary search on the text finds an item without parsing. Offsets have 16 bits: a run has at most 64 KiB of text, or
 * a single item of any size.
 */
export type SortedRun = Buffer;

/** `{"id":"` */
const idAt = Buffer.byteLength('{"id":"');
const quote = 0x22;
const backslash = 0x5c;
/** Bytes of an offset, and of the count. */
export const wordBytes = 2;

export const emptySortedRun: SortedRun = Buffer.alloc(wordBytes);

export function itemCount(run: SortedRun): number {
  return wordAt(run, run.length - wordBytes);
}

/** The text of the items, as a response contains it. */
export function runText(run: SortedRun): Buffer {
  return run.subarray(0, textBytes(run));
}

export function textBytes(run: SortedRun): number {
  return run.length - wordBytes * (itemCount(run) + 1);
}

/** The text of one item; undefined if it does not exist. @param id UTF-8 bytes */
export function findText(run: SortedRun, id: Buffer): Buffer | undefined {
  const { index, found } = search(run, id, 0);
  return found ? itemTextAt(run, index) : undefined;
}

export function itemTextAt(run: SortedRun, index: number): Buffer {
  return run.subarray(itemStart(run, index), itemEnd(run, index));
}

export function idAtIndex(run: SortedRun, index: number): string {
  const start = itemStart(run, index) + idAt;
  return JSON.parse(run.toString('utf8', start - 1, idEnd(run, start) + 1)) as string;
}

interface Position {
  /** Index of the item, or of the first item with a greater id. */
  readonly index: number;
  readonly found: boolean;
}

/** Finds the place of an id, or where it would be inserted, among the items from an index on. @param id UTF-8 bytes */
export function search(run: SortedRun, id: Buffer, from: number): Position {
  let low = from;
  let high = itemCount(run);
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = compareId(run, itemStart(run, middle) + idAt, id);
    if (order === 0) return { index: middle, found: true };
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return { index: low, found: false };
}

export function itemStart(run: SortedRun, index: number): number {
  return wordAt(run, textBytes(run) + wordBytes * index);
}

/** The end of an item's text, before the comma. */
export function itemEnd(run: SortedRun, index: number): number {
  return index + 1 < itemCount(run) ? itemStart(run, index + 1) - 1 : textBytes(run);
}

/**
 * Compares the id at `at` in the JSON text with an id's bytes. Bytes before the first escape are compared directly. At an escape
 * the id is decoded, because the character does not sort like its backslash.
 */
function compareId(run: SortedRun, at: number, id: Buffer): number {
  for (let n = 0; ; n++) {
    const byte = run[at + n] as number;
    if (byte === quote) return n === id.length ? 0 : -1;
    if (byte === backslash) return compareDecoded(run, at, id);
    if (n === id.length) return 1;
    const other = id[n] as number;
    if (byte !== other) return byte - other;
  }
}

function compareDecoded(run: SortedRun, at: number, id: Buffer): number {
  const decoded = JSON.parse(run.toString('utf8', at - 1, idEnd(run, at) + 1)) as string;
  return Buffer.from(decoded).compare(id);
}

/** The position of the closing quote of the id that begins at `at`. */
function idEnd(text: Buffer, at: number): number {
  let end = at;
  while (text[end] !== quote) end += text[end] === backslash ? 2 : 1;
  return end;
}

function wordAt(run: SortedRun, at: number): number {
  return (run[at] as number) | ((run[at + 1] as number) << 8);
}
