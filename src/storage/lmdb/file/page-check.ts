import { mapBytesMax, treeDepthMax } from '../limits.ts';
import { databaseNames } from './databases.ts';
import {
  type Bounds,
  type Compare,
  checkOrder,
  compareBytes,
  compareNumbers,
  isAscending,
  readKey,
  readNodes,
} from './page-nodes.ts';
import {
  Broken,
  childPage,
  type Head,
  headerBytes,
  inNode,
  inOverflow,
  inPage,
  newerHead,
  nodeFlags,
  PageFile,
  type PageUse,
  pageBytes,
  pageFlags,
  readHeads,
  readNumber,
  readTree,
  type Tree,
  treeBytes,
} from './pages.ts';

/** The flags of the free list: its keys are numbers (MDB_INTEGERKEY), and the store is one file (MDB_NOSUBDIR). All other keys are bytes. */
const freeListFlags = 0x4008;

/**
 * Looks for damage that would make LMDB crash the process, return other data than was written, or overwrite pages in use. Reads both
 * meta pages, every page of every tree, the header of every value that has pages of its own, and the free list, but not the content
 * of values. Call it before LMDB opens the file, while nothing can write.
 *
 * @returns what is wrong, as the end of a sentence; undefined if the structure is whole
 */
export function structureProblem(file: number): string | undefined {
  const heads = readHeads(file);
  if (heads === undefined) return 'it has no valid meta pages';
  return catchBroken(() => new PageCheck(file, heads).run());
}

/** Runs a check. @returns what it throws about the file, in words; undefined if it throws nothing */
export function catchBroken(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof Broken) return error.message;
    // Invalid content names offsets outside the page.
    if (error instanceof RangeError) return 'a page has invalid offsets';
    throw error;
  }
}

/** The names of the databases, as LMDB stores them. LMDB would make a new, empty database in place of one whose name was altered. */
const names: ReadonlySet<string | undefined> = new Set(databaseNames.map((name) => `${name}\0`));

interface TreeSums {
  branchPages: number;
  leafPages: number;
  overflowPages: number;
  entries: number;
}

/** See `structureProblem`; its methods throw Broken and RangeError. */
export class PageCheck {
  readonly #heads: readonly [Head, Head];
  readonly #head: Head;
  readonly #pages: PageFile;
  readonly #header = Buffer.alloc(headerBytes);

  constructor(file: number, heads: readonly [Head, Head]) {
    this.#heads = heads;
    this.#head = newerHead(heads);
    this.#pages = new PageFile(file, this.#head);
  }

  isUsedBy(kind: PageUse, page: number): boolean {
    return this.#pages.isUsedBy(kind, page);
  }

  run(): void {
    this.#checkHeads();
    const { main } = this.#head;
    const trees: Tree[] = [];
    this.#checkTree(main, {
      compare: compareBytes,
      values: (value, isTree, key) => {
        if (isTree && !names.has(key.toString('latin1')))
          throw new Broken('a database has an unknown name, or the file is not a store of Counterfoil');
        if (isTree && value.length !== treeBytes) throw new Broken('a database has no root');
        if (isTree) trees.push(readTree(value, 0));
      },
    });
    for (const tree of trees) this.#checkTree(tree, { compare: compareBytes, values: undefined });
    this.checkFreeList();
  }

  checkFreeList(): void {
    const lists: Buffer[] = [];
    const values = (value: Buffer, isTree: boolean, key: Buffer) => {
      if (isTree) throw new Broken('its free list claims to have a database');
      const transaction = key.length === 8 ? readNumber(key, 0) : 0;
      if (transaction < 1 || transaction > Number(this.#head.transaction))
        throw new Broken('its free list has an invalid key');
      lists.push(Buffer.from(value));
    };
    this.#checkTree(this.#head.free, { compare: compareNumbers, values });
    for (const list of lists) this.#claimFree(list);
  }

  /**
   * Does not check the trees of the older meta page: after a failed write of a meta page, LMDB overwrites the older one with the new
   * roots and the old number, so nothing uses these roots. A newer meta page with an altered number looks the same, but then the last
   * commit, which is noted beside the store (`notedCommit`), is missing.
   */
  #checkHeads(): void {
    for (const [index, head] of this.#heads.entries()) {
      const { version, free, transaction, mapBytes, page, main } = head;
      const isSound =
        version === this.#head.version &&
        page.number === index &&
        page.flags === pageFlags.meta &&
        free.pad === pageBytes &&
        free.flags === freeListFlags &&
        mapBytes <= mapBytesMax &&
        transaction < 2n ** 48n &&
        (transaction === 0n
          ? head !== this.#head || main.root === undefined
          : transaction % 2n === BigInt(index));
      if (!isSound) throw new Broken('a meta page has invalid content');
    }
    const [first, second] = this.#heads;
    const distance = Number(first.transaction - second.transaction);
    // A compacted copy has a first meta page without content.
    if (Math.abs(distance) > 1 && first.transaction !== 0n)
      throw new Broken('a transaction is missing between its meta pages');
  }

  #checkTree(tree: Tree, kind: Pick<TreeWalk, 'compare' | 'values'>): void {
    const { root, depth } = tree;
    const sums: TreeSums = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 };
    if (tree !== this.#head.free && (tree.flags !== 0 || tree.pad !== 0))
      throw new Broken('a database has invalid flags');
    if (depth > treeDepthMax || (root === undefined) !== (depth === 0))
      throw new Broken('a tree has an invalid depth');
    if (root !== undefined)
      this.#checkPage(root, depth, { low: undefined, high: undefined }, { ...kind, sums });
    for (const name of ['branchPages', 'leafPages', 'overflowPages', 'entries'] as const)
      if (sums[name] !== tree[name])
        throw new Broken('a tree has another number of pages or entries than its root says');
  }

  /** @param level the number of pages from this one to a leaf, both included */
  #checkPage(number: number, level: number, bounds: Bounds, walk: TreeWalk): void {
    this.#pages.claim(number, 1, 'tree');
    const page = this.#pages.read(number);
    const isLeaf = level === 1;
    this.#pages.checkHeader(page, number, isLeaf ? pageFlags.leaf : pageFlags.branch);
    const words = new DataView(page.buffer, page.byteOffset, page.length);
    const nodes = readNodes(words, isLeaf);
    if (isLeaf) {
      walk.sums.leafPages++;
      walk.sums.entries += nodes.length;
      this.#checkLeaf(page, words, nodes, bounds, walk);
      return;
    }
    walk.sums.branchPages++;
    if (nodes.length === 0) throw new Broken(`page ${number} has no children`);
    // The first key of a branch page is never compared.
    const keys = Array.from(nodes, (node, index) => (index === 0 ? bounds.low : readKey(page, words, node)));
    checkOrder(keys.slice(1) as Buffer[], bounds, walk.compare, number);
    for (const [index, node] of nodes.entries())
      this.#checkPage(
        childPage(page, node),
        level - 1,
        { low: keys[index], high: keys[index + 1] ?? bounds.high },
        walk,
      );
  }

  // A store of a million items has ten thousand entries, and each start reads them all. So each entry makes few objects.
  #checkLeaf(page: Buffer, words: DataView, nodes: Uint16Array, { low, high }: Bounds, walk: TreeWalk): void {
    const [first, last] = [nodes[0], nodes.at(-1)];
    if (first === undefined || last === undefined) return;
    const isInBounds =
      (low === undefined || walk.compare(low, readKey(page, words, first)) <= 0) &&
      (high === undefined || walk.compare(readKey(page, words, last), high) < 0);
    if (!isInBounds) throw new Broken('the keys of a page are out of order');
    for (let index = 0; index < nodes.length; index++) {
      const node = nodes[index] as number;
      if (index > 0 && !isAscending(page, words, nodes[index - 1] as number, node, walk.compare))
        throw new Broken('the keys of a page are out of order');
      const flags = words.getUint16(node + inNode.flags, true);
      const isTree = (flags & nodeFlags.subDatabase) !== 0;
      if (isTree && walk.values === undefined) throw new Broken('a value claims to be a database');
      const bytes = words.getUint32(node + inNode.low, true);
      const at = node + inNode.key + words.getUint16(node + inNode.keyBytes, true);
      if ((flags & nodeFlags.bigData) !== 0) {
        const stored = this.#readOverflow(page, at, bytes, walk);
        walk.values?.(stored.subarray(headerBytes), isTree, readKey(page, words, node));
      } else walk.values?.(page.subarray(at, at + bytes), isTree, readKey(page, words, node));
    }
  }

  /** @returns the header of the value's first page, followed by the value if it is read */
  #readOverflow(page: Buffer, at: number, bytes: number, { sums, values }: TreeWalk): Buffer {
    const number = readNumber(page, at + inOverflow.page);
    const pages = readNumber(page, at + inOverflow.pages);
    // A value that became shorter keeps its pages.
    if (pages * pageBytes < headerBytes + bytes) throw new Broken('a value is longer than its pages');
    this.#pages.claim(number, pages, 'tree');
    sums.overflowPages += pages;
    const stored = values === undefined ? this.#header : Buffer.allocUnsafe(headerBytes + bytes);
    this.#pages.readInto(stored, number);
    this.#pages.checkHeader(stored, number, pageFlags.overflow);
    if (stored.readUInt32LE(inPage.pages) !== pages)
      throw new Broken('a value has another number of pages than its entry says');
    return stored;
  }

  /** A positive entry of the list is a page, a negative one is the length of the block whose first page follows, and 0 is nothing. */
  #claimFree(list: Buffer): void {
    const count = readNumber(list, 0);
    if (8 * (count + 1) > list.length) throw new Broken('its free list has an invalid length');
    for (let index = 1; index <= count; index++) {
      const entry = Number(list.readBigInt64LE(8 * index));
      if (entry > 0) this.#pages.claim(entry, 1, 'free');
      else if (entry < 0 && index === count) throw new Broken('its free list ends within a block');
      else if (entry < 0) this.#pages.claim(Number(list.readBigInt64LE(8 * ++index)), -entry, 'free');
    }
  }
}

interface TreeWalk {
  readonly compare: Compare;
  /** Called with each value, and whether it is the root of a tree. Undefined if values are not read, and none is a tree. */
  readonly values: ((value: Buffer, isTree: boolean, key: Buffer) => unknown) | undefined;
  readonly sums: TreeSums;
}
