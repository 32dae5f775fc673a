import { fstatSync, readSync } from 'node:fs';
import { freePagesBeyondEndMax } from '../limits.ts';

/**
 * LMDB's file format, as far as it shows whether a file is whole. The file consists of pages of 4 KiB. Two meta pages, which
 * transactions write in turn, name the roots of two B+trees: the free list and the main database. The entries of the main database
 * name the roots of further databases. The offsets come from LMDB's mdb.c: MDB_meta, MDB_page_header, MDB_node, MDB_db, MDB_ovpage.
 */
export const pageBytes = 4096;
export const headerBytes = 24;
export const inPage = { number: 0, transaction: 8, flags: 18, lower: 20, upper: 22, pages: 20 };
export const inNode = { low: 0, high: 2, flags: 4, keyBytes: 6, key: 8 };
export const inOverflow = { page: 0, pages: 16, bytes: 24 };
/** `dirty` may remain from the time when the page was in memory. */
export const pageFlags = { branch: 1, leaf: 2, overflow: 4, meta: 8, dirty: 0x10 };
/** The flags that change how a page is read. */
export const pageKinds = 0x6f;
export const nodeFlags = { bigData: 1, subDatabase: 2 };
/** Bytes of a `Tree` in the file. */
export const treeBytes = 48;

const inMeta = { magic: 24, version: 28, mapBytes: 40, free: 48, main: 96, lastPage: 144, transaction: 152 };
const inTree = {
  pad: 0,
  flags: 4,
  depth: 6,
  branchPages: 8,
  leafPages: 16,
  overflowPages: 24,
  entries: 32,
  root: 40,
};
/** The first word of LMDB's meta pages, and of its lock file. */
export const magic = 0xbeefc0de;
const noPage = 0xffff_ffff_ffff_ffffn;

/** A B+tree. */
export interface Tree {
  /** For the free list, the size of a page. */
  readonly pad: number;
  readonly flags: number;
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly overflowPages: number;
  readonly entries: number;
  readonly root: number | undefined;
}

/** A meta page. */
export interface Head {
  readonly version: number;
  /** The number of the transaction that wrote it. */
  readonly transaction: bigint;
  readonly free: Tree;
  readonly main: Tree;
  /** One more than the last page ever used. The file may be shorter if its last pages are free. */
  readonly pages: number;
  readonly mapBytes: number;
  /** Number and flags in the header of the page. */
  readonly page: { readonly number: number; readonly flags: number };
}

/** Reads the newer of the two meta pages. Undefined if the file is not an LMDB file, or ends within its meta pages. */
export function readHead(file: number): Head | undefined {
  const heads = readHeads(file);
  return heads && newerHead(heads);
}

/** Chooses as LMDB does: of two with the same number the first, as in a store that nothing was written to. */
export function newerHead([first, second]: readonly [Head, Head]): Head {
  return first.transaction >= second.transaction ? first : second;
}

/** Reads both meta pages, in the order of the file. Undefined as for `readHead`. */
export function readHeads(file: number): readonly [Head, Head] | undefined {
  const bytes = Buffer.alloc(2 * pageBytes);
  if (readSync(file, bytes, 0, bytes.length, 0) < bytes.length) return undefined;
  const metas = [bytes.subarray(0, pageBytes), bytes.subarray(pageBytes)] as const;
  if (metas.some((meta) => meta.readUInt32LE(inMeta.magic) !== magic)) return undefined;
  return [readMeta(metas[0]), readMeta(metas[1])];
}

function readMeta(meta: Buffer): Head {
  return {
    version: meta.readUInt32LE(inMeta.version),
    transaction: meta.readBigUInt64LE(inMeta.transaction),
    free: readTree(meta, inMeta.free),
    main: readTree(meta, inMeta.main),
    pages: readNumber(meta, inMeta.lastPage) + 1,
    mapBytes: readNumber(meta, inMeta.mapBytes),
    page: { number: readNumber(meta, inPage.number), flags: meta.readUInt16LE(inPage.flags) },
  };
}

export function readTree(bytes: Buffer, at: number): Tree {
  const root = bytes.readBigUInt64LE(at + inTree.root);
  return {
    pad: bytes.readUInt32LE(at + inTree.pad),
    flags: bytes.readUInt16LE(at + inTree.flags),
    depth: bytes.readUInt16LE(at + inTree.depth),
    branchPages: readNumber(bytes, at + inTree.branchPages),
    leafPages: readNumber(bytes, at + inTree.leafPages),
    overflowPages: readNumber(bytes, at + inTree.overflowPages),
    entries: readNumber(bytes, at + inTree.entries),
    root: root === noPage ? undefined : readNumber(bytes, at + inTree.root),
  };
}

/** Reads a number of eight bytes. It is exact up to 2^53; no disk has more pages or transactions. */
export function readNumber(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}

/** The page that a node of a branch page names. */
export function childPage(page: Buffer, node: number): number {
  return page.readUInt32LE(node + inNode.low) + page.readUInt16LE(node + inNode.flags) * 2 ** 32;
}

/** The structure of a file is damaged. The message is the end of a sentence about the file. */
export class Broken extends Error {}

/** What uses a page. */
export type PageUse = 'tree' | 'free';
const useNumbers = { tree: 1, free: 2 } as const satisfies Record<PageUse, number>;

/** Reads the pages of a file, and records what uses each of them. Throws Broken for what no whole file has. */
export class PageFile {
  readonly #file: number;
  readonly #head: Head;
  readonly #pagesInFile: number;
  readonly #uses: Uint8Array;

  constructor(file: number, head: Head) {
    this.#file = file;
    this.#head = head;
    this.#pagesInFile = Math.floor(fstatSync(file).size / pageBytes);
    if (head.pages > this.#pagesInFile + freePagesBeyondEndMax)
      throw new Broken('its meta page names more pages than it has');
    this.#uses = new Uint8Array(head.pages);
  }

  isUsedBy(kind: PageUse, page: number): boolean {
    return this.#uses[page] === useNumbers[kind];
  }

  checkHeader(page: Buffer, number: number, kind: number): void {
    if (readNumber(page, inPage.number) !== number) throw new Broken(`page ${number} is another page`);
    if ((page.readUInt16LE(inPage.flags) & ~pageFlags.dirty) !== kind)
      throw new Broken(`page ${number} is of another kind`);
    if (readNumber(page, inPage.transaction) > Number(this.#head.transaction))
      throw new Broken(`page ${number} is newer than the last transaction`);
  }

  claim(first: number, pages: number, kind: PageUse): void {
    const end = first + pages;
    if (!(first >= 2 && end <= this.#head.pages)) throw new Broken('a page number is out of range');
    if (kind === 'tree' && end > this.#pagesInFile) throw this.#endsBefore(end - 1);
    for (let number = first; number < end; number++) {
      if (this.#uses[number] !== 0)
        throw new Broken(
          `page ${number} is ${kind === 'free' ? 'in use and free, or free twice' : 'used twice'}`,
        );
      this.#uses[number] = useNumbers[kind];
    }
  }

  read(number: number): Buffer {
    const page = Buffer.allocUnsafeSlow(pageBytes);
    this.readInto(page, number);
    return page;
  }

  readInto(bytes: Buffer, number: number): void {
    const isRead =
      number < this.#pagesInFile &&
      readSync(this.#file, bytes, 0, bytes.length, number * pageBytes) === bytes.length;
    if (!isRead) throw this.#endsBefore(number);
  }

  #endsBefore(page: number): Broken {
    return new Broken(`it ends after ${this.#pagesInFile} pages, and page ${page} is in use`);
  }
}
