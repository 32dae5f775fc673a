import { headerBytes, inNode, inOverflow, inPage, nodeFlags, numberAt, pageBytes } from './pages.ts';

/** The entries of one page of LMDB, checked. */

const roomBytes = pageBytes - headerBytes;

/** The message is the end of a sentence about the file. */
export class Broken extends Error {}

export type Compare = (a: Buffer, b: Buffer) => number;

/** The keys that a subtree may have: from `low` on, and before `high`. */
export interface Bounds {
  readonly low: Buffer | undefined;
  readonly high: Buffer | undefined;
}

/** The offsets of the nodes of a page, which together fill exactly what the header counts as used. */
export function nodesOf(page: DataView, isLeaf: boolean): Uint16Array {
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

export function keyOf(page: Buffer, words: DataView, node: number): Buffer {
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
  return numberAt(a, 0) - numberAt(b, 0);
}

/** Whether the key of one node is less than that of the next. Bytes are compared in place, because most keys are. */
export function isAscending(
  page: Buffer,
  words: DataView,
  node: number,
  next: number,
  compare: Compare,
): boolean {
  if (compare !== compareBytes) return compare(keyOf(page, words, node), keyOf(page, words, next)) < 0;
  const bytes = words.getUint16(node + inNode.keyBytes, true);
  const nextBytes = words.getUint16(next + inNode.keyBytes, true);
  for (let index = 0; index < bytes && index < nextBytes; index++) {
    const difference =
      (page[node + inNode.key + index] as number) - (page[next + inNode.key + index] as number);
    if (difference !== 0) return difference < 0;
  }
  return bytes < nextBytes;
}
