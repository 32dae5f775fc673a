import { readSync } from 'node:fs';

/**
 * LMDB's file format, as far as it shows whether a file is whole. The file has pages of 4 KiB. Two meta pages, which transactions
 * write in turn, name the roots of two B+trees: the free list and the main database. The entries of the main database name the roots of
 * further databases. The offsets come from LMDB's mdb.c: MDB_meta, MDB_page_header, MDB_node, MDB_db, MDB_ovpage.
 */
export const pageBytes = 4096;
export const headerBytes = 24;
export const inPage = { number: 0, transaction: 8, flags: 18, lower: 20, upper: 22, pages: 20 };
export const inNode = { low: 0, high: 2, flags: 4, keyBytes: 6, key: 8 };
export const inOverflow = { page: 0, pages: 16, bytes: 24 };
/** `dirty` may be left over from when the page was in memory. */
export const pageFlags = { branch: 1, leaf: 2, overflow: 4, meta: 8, dirty: 0x10 };
/** Those that change how a page is read. */
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
const magic = 0xbeefc0de;
const noPage = 0xffff_ffff_ffff_ffffn;

/** A B+tree. */
export interface Tree {
  /** Of the free list: the size of a page. */
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
  /** Undefined when nothing was ever written. */
  readonly mainRoot: number | undefined;
  /** One more than the last page ever used; the file may be shorter when its last pages are free. */
  readonly pages: number;
  readonly mapBytes: number;
  /** As its header has them. */
  readonly page: { readonly number: number; readonly flags: number };
}

/** The newer of the two meta pages. Undefined when the file is not an LMDB file, or ends within its meta pages. */
export function readHead(file: number): Head | undefined {
  const heads = readHeads(file);
  return heads && newerHead(heads);
}

/** As LMDB chooses: of two with the same number the first, as in a store that nothing was written to. */
export function newerHead([first, second]: readonly [Head, Head]): Head {
  return first.transaction >= second.transaction ? first : second;
}

/** Both meta pages, in the order of the file. Undefined as for `readHead`. */
export function readHeads(file: number): readonly [Head, Head] | undefined {
  const bytes = Buffer.alloc(2 * pageBytes);
  if (readSync(file, bytes, 0, bytes.length, 0) < bytes.length) return undefined;
  const metas = [bytes.subarray(0, pageBytes), bytes.subarray(pageBytes)] as const;
  if (metas.some((meta) => meta.readUInt32LE(inMeta.magic) !== magic)) return undefined;
  return [readMeta(metas[0]), readMeta(metas[1])];
}

function readMeta(meta: Buffer): Head {
  const main = treeAt(meta, inMeta.main);
  return {
    version: meta.readUInt32LE(inMeta.version),
    transaction: meta.readBigUInt64LE(inMeta.transaction),
    free: treeAt(meta, inMeta.free),
    main,
    mainRoot: main.root,
    pages: numberAt(meta, inMeta.lastPage) + 1,
    mapBytes: numberAt(meta, inMeta.mapBytes),
    page: { number: numberAt(meta, inPage.number), flags: meta.readUInt16LE(inPage.flags) },
  };
}

export function treeAt(bytes: Buffer, at: number): Tree {
  const root = bytes.readBigUInt64LE(at + inTree.root);
  return {
    pad: bytes.readUInt32LE(at + inTree.pad),
    flags: bytes.readUInt16LE(at + inTree.flags),
    depth: bytes.readUInt16LE(at + inTree.depth),
    branchPages: numberAt(bytes, at + inTree.branchPages),
    leafPages: numberAt(bytes, at + inTree.leafPages),
    overflowPages: numberAt(bytes, at + inTree.overflowPages),
    entries: numberAt(bytes, at + inTree.entries),
    root: root === noPage ? undefined : numberAt(bytes, at + inTree.root),
  };
}

/** A number of eight bytes, exact up to 2^53: of more pages or transactions no disk can have. */
export function numberAt(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}

/** The page that a node of a branch page names. */
export function childOf(page: Buffer, node: number): number {
  return page.readUInt32LE(node + inNode.low) + page.readUInt16LE(node + inNode.flags) * 2 ** 32;
}
