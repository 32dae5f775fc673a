import { closeSync, openSync, readSync } from 'node:fs';
import { readNodes } from '../../../src/storage/lmdb/file/page-nodes.ts';
import {
  childPage,
  headerBytes,
  inNode,
  inOverflow,
  nodeFlags,
  pageBytes,
  readHead,
  readNumber,
  readTree,
  treeBytes,
} from '../../../src/storage/lmdb/file/pages.ts';

/**
 * The bytes of a file that no checksum of a value covers: the headers, entries and keys of the pages that the newest trees of LMDB lead
 * to, and the free list. @returns where they are
 */
export function structuralBytes(file: string): number[] {
  const descriptor = openSync(file, 'r');
  try {
    const bytes = new StructuralBytes(descriptor);
    const head = readHead(descriptor);
    if (head?.free.root !== undefined) bytes.addTree(head.free, true);
    if (head !== undefined) bytes.addTree(head.main, false);
    return bytes.found;
  } finally {
    closeSync(descriptor);
  }
}

class StructuralBytes {
  readonly found: number[] = [];
  readonly #file: number;

  constructor(file: number) {
    this.#file = file;
  }

  addTree(
    { root, depth }: { readonly root: number | undefined; readonly depth: number },
    isFreeList: boolean,
  ): void {
    if (root !== undefined) this.#addPage(root, depth, isFreeList);
  }

  #addPage(number: number, level: number, isFreeList: boolean): void {
    const page = Buffer.alloc(pageBytes);
    readSync(this.#file, page, 0, pageBytes, number * pageBytes);
    const words = new DataView(page.buffer, page.byteOffset, page.length);
    const nodes = readNodes(words, level === 1);
    const add = (from: number, bytes: number) => this.#add(number, from, bytes);
    add(0, headerBytes + 2 * nodes.length);
    for (const node of nodes) {
      const value = node + inNode.key + words.getUint16(node + inNode.keyBytes, true);
      add(node, value - node);
      if (level > 1) this.#addPage(childPage(page, node), level - 1, isFreeList);
      else this.#addValue(page, node, value, add, isFreeList);
    }
  }

  #addValue(
    page: Buffer,
    node: number,
    value: number,
    add: (from: number, bytes: number) => void,
    isFreeList: boolean,
  ): void {
    const flags = page.readUInt16LE(node + inNode.flags);
    if (isFreeList) add(value, page.readUInt32LE(node + inNode.low));
    else if ((flags & nodeFlags.subDatabase) !== 0) {
      add(value, treeBytes);
      this.addTree(readTree(page, value), false);
    } else if ((flags & nodeFlags.bigData) !== 0) {
      add(value, inOverflow.bytes);
      this.#add(readNumber(page, value + inOverflow.page), 0, headerBytes);
    }
  }

  #add(page: number, from: number, bytes: number): void {
    for (let at = from; at < from + bytes; at++) this.found.push(page * pageBytes + at);
  }
}
