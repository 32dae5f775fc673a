import {
  Broken,
  headerBytes,
  inNode,
  inOverflow,
  inPage,
  nodeFlags,
  pageBytes,
  readNumber,
} from './pages.ts';

/** Reads the entries of one page of LMDB, and checks them. */

const roomBytes = pageBytes - headerBytes;

export type Compare = (a: Buffer, b: Buffer) => number;

/** The keys that a subtree may have: `low` or greater, and less than `high`. */
export interface Bounds {
  readonly low: Buffer | undefined;
  readonly high: Buffer | undefined;
}

/** Reads the offsets of the nodes of a page. Together, the nodes fill exactly what the header counts as used. */
export function readNodes(page: DataView, isLeaf: boolean): Uint16Array {
  const lower = page.getUint16(inPage.lower, true);
  const upper = page.getUint16(inPage.upper, true);
  if (lower % 2 !== 0 || lower > upper || upper > roomBytes) throw new Broken('a page has invalid bounds');
  const nodes = new Uint16Array(lower / 2);
  let used = 0;
  for (let index = 0; index < nodes.length; index++) {
    const offset = page.getUint16(headerBytes + 2 * index, true);
    const bytes =
      offset + inNode.key <= roomBytes ? nodeBytes(page, headerBytes + offset, isLeaf) : pageBytes;
    if (offset < upper || offset + bytes > roomBytes) throw new Broken('a page has an entry out of bounds');
    nodes[index] = headerBytes + offset;
    used += bytes + (bytes % 2);
  }
  if (used !== roomBytes - upper) throw new Broken('the entries of a page overlap');
  return nodes;
}

function nodeBytes(page: DataView, node: number, isLeaf: boolean): number {
  const bytes = inNode.key + page.getUint16(node + inNode.keyBytes, true);
  if (!isLeaf) return bytes;
  const flags = page.getUint16(node + inNode.flags, true);
  if ((flags & ~(nodeFlags.bigData | nodeFlags.subDatabase)) !== 0)
    throw new Broken('an entry has invalid flags');
  const isBig = (flags & nodeFlags.bigData) !== 0;
  return bytes + (isBig ? inOverflow.bytes : page.getUint32(node + inNode.low, true));
}

export function readKey(page: Buffer, words: DataView, node: number): Buffer {
  const at = node + inNode.key;
  return page.subarray(at, at + words.getUint16(node + inNode.keyBytes, true));
}

export function checkOrder(
  keys: readonly Buffer[],
  { low, high }: Bounds,
  compare: Compare,
  number: number,
): void {
  const all = [...(low === undefined ? [] : [low]), ...keys, ...(high === undefined ? [] : [high])];
  const isSorted = all.every((key, index) => index === 0 || compare(all[index - 1] as Buffer, key) < 0);
  if (!isSorted) throw new Broken(`the keys of page ${number} are out of order`);
}

export function compareBytes(a: Buffer, b: Buffer): number {
  return a.compare(b);
}

export function compareNumbers(a: Buffer, b: Buffer): number {
  if (a.length !== 8 || b.length !== 8) throw new Broken('its free list has an invalid key');
  return readNumber(a, 0) - readNumber(b, 0);
}

/** Whether the key of one node is less than the key of the next. Byte keys, which most are, are compared in place. */
export function isAscending(
  page: Buffer,
  words: DataView,
  node: number,
  next: number,
  compare: Compare,
): boolean {
  if (compare !== compareBytes) return compare(readKey(page, words, node), readKey(page, words, next)) < 0;
  const bytes = words.getUint16(node + inNode.keyBytes, true);
  const nextBytes = words.getUint16(next + inNode.keyBytes, true);
  for (let index = 0; index < bytes && index < nextBytes; index++) {
    const difference =
      (page[node + inNode.key + index] as number) - (page[next + inNode.key + index] as number);
    if (difference !== 0) return difference < 0;
  }
  return bytes < nextBytes;
}
