import type { Item } from '../../../src/storage/item-text.ts';

/** A simple implementation of the run format (src/storage/lmdb/sorted-run.ts), to compare the fast one with. */
export function plainRun(items: readonly Item[]): Buffer {
  const texts = items.map(({ id, name }) => JSON.stringify({ id, name }));
  const words: number[] = [];
  let start = 0;
  for (const text of texts) {
    words.push(start);
    start += Buffer.byteLength(text) + 1;
  }
  const tail = Buffer.alloc(2 * (words.length + 1));
  for (const [index, word] of [...words, items.length].entries()) tail.writeUInt16LE(word, 2 * index);
  return Buffer.concat([Buffer.from(texts.join(',')), tail]);
}

export function textBytesOf({ id, name }: Item): number {
  return Buffer.byteLength(JSON.stringify({ id, name }));
}

export function byIdBytes(a: { readonly id: string }, b: { readonly id: string }): number {
  return Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));
}
