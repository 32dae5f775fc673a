import { fstatSync, readSync } from 'node:fs';
import { catchBroken, PageCheck } from '../page-check.ts';
import {
  headerBytes,
  inNode,
  inOverflow,
  inPage,
  nodeFlags,
  numberAt,
  pageBytes,
  pageFlags,
  pageKinds,
  readHeads,
} from '../pages.ts';

/** What may be an entry of a database. Its place in the page may be damaged, so that it is none. */
export interface PageEntry {
  readonly key: Buffer;
  /** Reads the value again, so that not all are in memory. */
  readonly read: () => Buffer;
  /** The transaction that wrote the page. */
  readonly transaction: number;
}

/** What the leaf pages of LMDB in a file have, whether a tree leads to them or not. @param mayBeUsed of the number of a page */
export function* entriesIn(file: number, mayBeUsed: (page: number) => boolean): Generator<PageEntry> {
  const fileBytes = fstatSync(file).size;
  const page = Buffer.alloc(pageBytes);
  for (let number = 2; number < Math.floor(fileBytes / pageBytes); number++) {
    if (!mayBeUsed(number)) continue;
    readSync(file, page, 0, pageBytes, number * pageBytes);
    const isLeaf = (page.readUInt16LE(inPage.flags) & pageKinds) === pageFlags.leaf;
    if (!isLeaf || numberAt(page, inPage.number) !== number) continue;
    const transaction = numberAt(page, inPage.transaction);
    const end = Math.min(headerBytes + page.readUInt16LE(inPage.lower), pageBytes - 1);
    for (let at = headerBytes; at < end; at += 2) {
      const entry = entryAt({ file, fileBytes, page }, headerBytes + page.readUInt16LE(at));
      if (entry !== undefined) yield { ...entry, transaction };
    }
  }
}

interface Place {
  readonly file: number;
  readonly fileBytes: number;
  readonly page: Buffer;
}

function entryAt(
  { file, fileBytes, page }: Place,
  node: number,
): Pick<PageEntry, 'key' | 'read'> | undefined {
  const keyAt = node + inNode.key;
  if (keyAt > pageBytes) return undefined;
  const dataAt = keyAt + page.readUInt16LE(node + inNode.keyBytes);
  const bytes = page.readUInt32LE(node + inNode.low);
  const isBig = (page.readUInt16LE(node + inNode.flags) & nodeFlags.bigData) !== 0;
  if (dataAt + (isBig ? inOverflow.bytes : bytes) > pageBytes) return undefined;
  const key = Buffer.from(page.subarray(keyAt, dataAt));
  if (!isBig) {
    const value = Buffer.from(page.subarray(dataAt, dataAt + bytes));
    return { key, read: () => value };
  }
  const at = numberAt(page, dataAt + inOverflow.page) * pageBytes + headerBytes;
  return { key, read: () => bytesAt(file, at, at + bytes <= fileBytes ? bytes : 0) };
}

function bytesAt(file: number, at: number, bytes: number): Buffer {
  const value = Buffer.alloc(bytes);
  readSync(file, value, 0, bytes, at);
  return value;
}

/** What is known of the pages of a file that may be damaged. */
interface KnownPages {
  /** What is wrong with its structure, as the end of a sentence; undefined when it is whole. */
  readonly problem: string | undefined;
  /** Whether it is known which pages are free. */
  readonly isFreeListKnown: boolean;
  /** Whether a page may be a part of the store; false for one that is free, and may have what was deleted. */
  readonly mayBeUsed: (page: number) => boolean;
}

/** Call it while nothing can write. */
export function knownPages(file: number): KnownPages {
  const heads = readHeads(file);
  if (heads === undefined)
    return { problem: 'it has no valid meta pages', isFreeListKnown: false, mayBeUsed: () => true };
  const checkAfter = (run: (check: PageCheck) => void) => {
    let check: PageCheck | undefined;
    const problem = catchBroken(() => {
      check = new PageCheck(file, heads);
      run(check);
    });
    return { check, problem };
  };
  const { check, problem } = checkAfter((each) => each.run());
  if (problem === undefined)
    return { problem, isFreeListKnown: true, mayBeUsed: (page) => check?.isUsedBy('tree', page) === true };
  const free = checkAfter((each) => each.checkFreeList());
  const isFreeListKnown = free.problem === undefined;
  return {
    ...{ problem, isFreeListKnown },
    mayBeUsed: (page) => !isFreeListKnown || free.check?.isUsedBy('free', page) !== true,
  };
}
