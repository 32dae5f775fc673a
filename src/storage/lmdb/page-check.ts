import { fstatSync, readSync } from 'node:fs';
import { freePagesBeyondEndMax, mapBytesMax, treeDepthMax } from './limits.ts';
import {
  type Bounds,
  Broken,
  type Compare,
  checkOrder,
  compareBytes,
  compareNumbers,
  keyOf,
  nodesOf,
} from './page-nodes.ts';
import {
  childOf,
  type Head,
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
  type Tree,
  treeAt,
  treeBytes,
} from './pages.ts';

/** Of the free list: its keys are numbers (MDB_INTEGERKEY), and the store is one file (MDB_NOSUBDIR). All other keys are bytes. */
const freeListFlags = 0x4008;

/**
 * Looks for what would make LMDB crash the process, return other data than was written, or write over pages that are in use: reads
 * both meta pages, every page of every tree, the header of every value that has pages of its own, and the free list. Content of values is
 * not read. Call it while nothing can write, before LMDB opens the file.
 *
 * @returns what is wrong, as the end of a sentence; undefined when the structure is whole
 */
export function structureProblem(file: number): string | undefined {
  const heads = readHeads(file);
  if (heads === undefined) return 'it has no valid meta pages';
  try {
    new PageCheck(file, heads).run();
    return undefined;
  } catch (error) {
    if (error instanceof Broken) return error.message;
    // A page with invalid content names offsets outside of the page.
    if (error instanceof RangeError) return 'a page has invalid offsets';
    throw error;
  }
}

/** Whether a page is in use. */
const use = { none: 0, tree: 1, free: 2 };

interface Sums {
  branchPages: number;
  leafPages: number;
  overflowPages: number;
  entries: number;
}

class PageCheck {
  readonly #file: number;
  readonly #heads: readonly [Head, Head];
  readonly #head: Head;
  readonly #pagesInFile: number;
  readonly #uses: Uint8Array;
  readonly #header = Buffer.alloc(headerBytes);

  constructor(file: number, heads: readonly [Head, Head]) {
    this.#file = file;
    this.#heads = heads;
    this.#head = heads[0].transaction > heads[1].transaction ? heads[0] : heads[1];
    this.#pagesInFile = Math.floor(fstatSync(file).size / pageBytes);
    if (this.#head.pages > this.#pagesInFile + freePagesBeyondEndMax)
      throw new Broken('its meta page names more pages than it has');
    this.#uses = new Uint8Array(this.#head.pages);
  }

  run(): void {
    this.#checkHeads();
    const { free, main } = this.#head;
    const trees: Tree[] = [];
    const lists: Buffer[] = [];
    this.#checkTree(main, {
      compare: compareBytes,
      values: (value, isTree) => {
        if (isTree && value.length !== treeBytes) throw new Broken('a database has no root');
        if (isTree) trees.push(treeAt(value, 0));
      },
    });
    this.#checkTree(free, { compare: compareNumbers, values: (value) => lists.push(Buffer.from(value)) });
    for (const tree of trees) this.#checkTree(tree, { compare: compareBytes, values: undefined });
    for (const list of lists) this.#checkFreeList(list);
  }

  /** The newer meta page must not be the older one with another number: then its transaction would be lost. */
  #checkHeads(): void {
    for (const [index, { version, free, transaction, mapBytes, page, main }] of this.#heads.entries()) {
      const isSound =
        version === this.#head.version &&
        page.number === index &&
        page.flags === pageFlags.meta &&
        free.pad === pageBytes &&
        free.flags === freeListFlags &&
        mapBytes <= mapBytesMax &&
        transaction < 2n ** 48n &&
        (transaction === 0n ? main.root === undefined : transaction % 2n === BigInt(index));
      if (!isSound) throw new Broken('a meta page has invalid content');
      // The tree of the older meta page is still in the file, because its pages are used again only one transaction later.
      for (const root of [free.root, main.root])
        if (root !== undefined && this.#transactionOf(root) > Number(transaction))
          throw new Broken('a meta page is older than the pages that it names');
    }
    const [first, second] = this.#heads;
    const distance = Number(first.transaction - second.transaction);
    // A compacted copy has a first meta page without content.
    if (Math.abs(distance) > 1 && first.transaction !== 0n)
      throw new Broken('a transaction is missing between its meta pages');
  }

  #transactionOf(root: number): number {
    this.#readInto(this.#header, root);
    return numberAt(this.#header, inPage.transaction);
  }

  #checkTree(tree: Tree, kind: Pick<Walk, 'compare' | 'values'>): void {
    const { root, depth } = tree;
    const sums: Sums = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 };
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

  /** @param level the pages from here to the leaves, this one included */
  #checkPage(number: number, level: number, bounds: Bounds, walk: Walk): void {
    this.#claim(number, 1, use.tree);
    const page = this.#readPage(number);
    const isLeaf = level === 1;
    this.#checkHeader(page, number, isLeaf ? pageFlags.leaf : pageFlags.branch);
    const words = new DataView(page.buffer, page.byteOffset, page.length);
    const nodes = nodesOf(words, isLeaf);
    if (isLeaf) {
      walk.sums.leafPages++;
      walk.sums.entries += nodes.length;
      this.#checkLeaf(page, words, nodes, bounds, walk);
      return;
    }
    walk.sums.branchPages++;
    if (nodes.length === 0) throw new Broken(`page ${number} has no children`);
    // The first key of a branch page is never compared.
    const keys = Array.from(nodes, (node, index) => (index === 0 ? bounds.low : keyOf(page, words, node)));
    checkOrder(keys.slice(1) as Buffer[], bounds, walk.compare, number);
    for (const [index, node] of nodes.entries())
      this.#checkPage(
        childOf(page, node),
        level - 1,
        { low: keys[index], high: keys[index + 1] ?? bounds.high },
        walk,
      );
  }

  // A store of a million items has ten thousand entries, and each start walks them all: so few objects are made for an entry.
  #checkLeaf(page: Buffer, words: DataView, nodes: Uint16Array, { low, high }: Bounds, walk: Walk): void {
    let before = low;
    for (let index = 0; index < nodes.length; index++) {
      const node = nodes[index] as number;
      const key = keyOf(page, words, node);
      const order = before === undefined ? -1 : walk.compare(before, key);
      if (order > 0 || (order === 0 && index > 0)) throw new Broken('the keys of a page are out of order');
      before = key;
      const flags = words.getUint16(node + inNode.flags, true);
      const isTree = (flags & nodeFlags.subDatabase) !== 0;
      if (isTree && walk.values === undefined) throw new Broken('a value claims to be a database');
      const bytes = words.getUint32(node + inNode.low, true);
      const at = node + inNode.key + key.length;
      if ((flags & nodeFlags.bigData) !== 0) this.#checkOverflow(page, at, bytes, walk);
      else walk.values?.(page.subarray(at, at + bytes), isTree);
    }
    if (before !== undefined && high !== undefined && nodes.length > 0 && walk.compare(before, high) >= 0)
      throw new Broken('the keys of a page are out of order');
  }

  #checkOverflow(page: Buffer, at: number, bytes: number, { sums, values }: Walk): void {
    const number = numberAt(page, at + inOverflow.page);
    const pages = numberAt(page, at + inOverflow.pages);
    // A value that was made shorter keeps its pages.
    if (pages * pageBytes < headerBytes + bytes) throw new Broken('a value is longer than its pages');
    this.#claim(number, pages, use.tree);
    sums.overflowPages += pages;
    const value = values === undefined ? this.#header : Buffer.allocUnsafe(headerBytes + bytes);
    this.#readInto(value, number);
    this.#checkHeader(value, number, pageFlags.overflow);
    if (value.readUInt32LE(inPage.pages) !== pages)
      throw new Broken('a value has another number of pages than its entry says');
    values?.(value.subarray(headerBytes), false);
  }

  #checkHeader(page: Buffer, number: number, kind: number): void {
    if (numberAt(page, inPage.number) !== number) throw new Broken(`page ${number} is another page`);
    if ((page.readUInt16LE(inPage.flags) & pageKinds) !== kind)
      throw new Broken(`page ${number} is of another kind`);
    if (numberAt(page, inPage.transaction) > Number(this.#head.transaction))
      throw new Broken(`page ${number} is newer than the last transaction`);
  }

  /** A list of pages: a number is a page, a negative one the length of the block whose first page follows, and 0 nothing. */
  #checkFreeList(list: Buffer): void {
    const count = numberAt(list, 0);
    if (8 * (count + 1) > list.length) throw new Broken('its free list has an invalid length');
    for (let index = 1; index <= count; index++) {
      const entry = Number(list.readBigInt64LE(8 * index));
      if (entry > 0) this.#claim(entry, 1, use.free);
      else if (entry < 0 && index < count)
        this.#claim(Number(list.readBigInt64LE(8 * ++index)), -entry, use.free);
    }
  }

  #claim(first: number, pages: number, kind: number): void {
    const end = first + pages;
    if (!(first >= 2 && end <= this.#head.pages)) throw new Broken('a page number is out of range');
    if (kind === use.tree && end > this.#pagesInFile)
      throw new Broken(`it ends after ${this.#pagesInFile} pages, and page ${end - 1} is in use`);
    for (let number = first; number < end; number++) {
      if (this.#uses[number] !== use.none)
        throw new Broken(
          `page ${number} is ${kind === use.free ? 'in use and free, or free twice' : 'used twice'}`,
        );
      this.#uses[number] = kind;
    }
  }

  #readPage(number: number): Buffer {
    const page = Buffer.allocUnsafeSlow(pageBytes);
    this.#readInto(page, number);
    return page;
  }

  #readInto(bytes: Buffer, number: number): void {
    if (
      number < this.#pagesInFile &&
      readSync(this.#file, bytes, 0, bytes.length, number * pageBytes) === bytes.length
    )
      return;
    throw new Broken(`it ends after ${this.#pagesInFile} pages, and page ${number} is in use`);
  }
}

interface Walk {
  readonly compare: Compare;
  /** Called with each value, and whether it is the root of a tree; undefined where values are not read, and are no trees. */
  readonly values: ((value: Buffer, isTree: boolean) => unknown) | undefined;
  readonly sums: Sums;
}
