import { readSync } from 'node:fs';

/**
 * The part of LMDB's file format that shows whether a file is complete. The file has pages of 4 KiB. Two meta pages name
 * the roots of two B+trees: the free list and the main database. The entries of the main database name the roots of
 * further databases. The offsets come from LMDB's mdb.c: MDB_meta, MDB_page_header, MDB_node, MDB_db, MDB_ovpage.
 */
export const pageBytes = 4096;
const headerBytes = 24;
const inMeta = { magic: 24, version: 28, freeRoot: 88, mainRoot: 136, lastPage: 144, transaction: 152 };
const inPage = { flags: 18, lower: 20 };
const inNode = { low: 0, high: 2, flags: 4, keyBytes: 6, key: 8 };
const inDatabase = { root: 40 };
const inOverflow = { page: 0, pages: 16 };
const branchPage = 1;
const leafPage = 2;
const bigData = 1;
const subDatabase = 2;
const magic = 0xbeefc0de;
/** Of the eight bytes of a page number: no disk holds more pages than six bytes can count. */
const numberBytes = 6;
const noPage = 0xffff_ffff_ffff_ffffn;

/** The content of the newer of the two meta pages. */
export interface Head {
  readonly version: number;
  /** The number of the transaction that wrote it. */
  readonly transaction: bigint;
  readonly freeRoot: number | undefined;
  /** Undefined when nothing was ever written. */
  readonly mainRoot: number | undefined;
  /** One more than the last page ever used; the file may be shorter when its last pages are free. */
  readonly pages: number;
}

/** Undefined when the file is not an LMDB file, or ends within its meta pages. */
export function readHead(file: number): Head | undefined {
  const head = Buffer.alloc(2 * pageBytes);
  if (readSync(file, head, 0, head.length, 0) < head.length) return undefined;
  const metas = [head.subarray(0, pageBytes), head.subarray(pageBytes)] as const;
  if (metas.some((meta) => meta.readUInt32LE(inMeta.magic) !== magic)) return undefined;
  const [first, second] = metas;
  const isFirst = first.readBigUInt64LE(inMeta.transaction) > second.readBigUInt64LE(inMeta.transaction);
  const meta = isFirst ? first : second;
  return {
    version: meta.readUInt32LE(inMeta.version),
    transaction: meta.readBigUInt64LE(inMeta.transaction),
    freeRoot: pageAt(meta, inMeta.freeRoot),
    mainRoot: pageAt(meta, inMeta.mainRoot),
    pages: Number(meta.readBigUInt64LE(inMeta.lastPage)) + 1,
  };
}

/** How many pages the file must have: up to the last page that a tree uses. Undefined when a tree is broken. */
export function pagesNeeded(file: number, head: Head): number | undefined {
  try {
    return walk(file, head);
  } catch (error) {
    // A page with invalid content names offsets outside of the page or the file.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function walk(file: number, { freeRoot, mainRoot, pages }: Head): number | undefined {
  const page = Buffer.alloc(pageBytes);
  const ahead = [freeRoot, mainRoot].filter((root) => root !== undefined);
  let needed = 2;
  let walked = 0;
  for (let number = ahead.pop(); number !== undefined; number = ahead.pop()) {
    // A valid tree reaches each page once.
    if (++walked > pages) return undefined;
    if (readSync(file, page, 0, pageBytes, number * pageBytes) < pageBytes) return undefined;
    needed = Math.max(needed, number + 1);
    const flags = page.readUInt16LE(inPage.flags);
    if ((flags & (branchPage | leafPage)) === 0) return undefined;
    const isBranch = (flags & branchPage) !== 0;
    const places = page.readUInt16LE(inPage.lower);
    for (let place = headerBytes; place < headerBytes + places; place += 2) {
      const node = headerBytes + page.readUInt16LE(place);
      if (isBranch) ahead.push(childOf(page, node));
      else needed = Math.max(needed, pagesOfValue(page, node, ahead));
    }
  }
  return needed;
}

// A large store has a hundred thousand nodes, and the start walks them all, so no objects are allocated per node.

function childOf(page: Buffer, node: number): number {
  return page.readUInt32LE(node + inNode.low) + page.readUInt16LE(node + inNode.flags) * 2 ** 32;
}

/** Adds the root that a leaf node names to `ahead`. @returns the pages that the file needs for an overflow value */
function pagesOfValue(page: Buffer, node: number, ahead: number[]): number {
  const flags = page.readUInt16LE(node + inNode.flags);
  if ((flags & (bigData | subDatabase)) === 0) return 0;
  const data = node + inNode.key + page.readUInt16LE(node + inNode.keyBytes);
  if ((flags & bigData) !== 0) {
    return (
      page.readUIntLE(data + inOverflow.page, numberBytes) +
      page.readUIntLE(data + inOverflow.pages, numberBytes)
    );
  }
  const root = pageAt(page, data + inDatabase.root);
  if (root !== undefined) ahead.push(root);
  return 0;
}

function pageAt(bytes: Buffer, at: number): number | undefined {
  const page = bytes.readBigUInt64LE(at);
  return page === noPage ? undefined : Number(page);
}
