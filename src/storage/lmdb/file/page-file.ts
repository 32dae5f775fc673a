import { fstatSync, readSync } from 'node:fs';
import { freePagesBeyondEndMax } from '../limits.ts';
import { Broken } from './page-nodes.ts';
import { type Head, inPage, numberAt, pageBytes, pageFlags } from './pages.ts';

/** What uses a page. */
export type PageUse = 'tree' | 'free';
const useNumbers = { tree: 1, free: 2 } as const satisfies Record<PageUse, number>;

/** The pages of a file, and what uses them. Throws Broken for what no whole file has. */
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
    if (numberAt(page, inPage.number) !== number) throw new Broken(`page ${number} is another page`);
    if ((page.readUInt16LE(inPage.flags) & ~pageFlags.dirty) !== kind)
      throw new Broken(`page ${number} is of another kind`);
    if (numberAt(page, inPage.transaction) > Number(this.#head.transaction))
      throw new Broken(`page ${number} is newer than the last transaction`);
  }

  claim(first: number, pages: number, kind: PageUse): void {
    const end = first + pages;
    if (!(first >= 2 && end <= this.#head.pages)) throw new Broken('a page number is out of range');
    if (kind === 'tree' && end > this.#pagesInFile)
      throw new Broken(`it ends after ${this.#pagesInFile} pages, and page ${end - 1} is in use`);
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
    if (
      number < this.#pagesInFile &&
      readSync(this.#file, bytes, 0, bytes.length, number * pageBytes) === bytes.length
    )
      return;
    throw new Broken(`it ends after ${this.#pagesInFile} pages, and page ${number} is in use`);
  }
}
