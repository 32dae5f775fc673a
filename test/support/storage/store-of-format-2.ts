import { mkdirSync } from 'node:fs';
import { open } from 'lmdb';
import type { Item } from '../../../src/storage/item-text.ts';
import { storeFile } from '../../../src/storage/lmdb/open.ts';
import { byIdBytes, plainRun, textBytesOf } from './simple-run.ts';

/** What a store of format 2 has: items by space. */
export type Content = Readonly<Record<string, readonly Item[]>>;

/** A change that is in the journal alone; an undefined name deletes the item. */
export interface Change {
  readonly space: string;
  readonly id: string;
  readonly name: string | undefined;
}

/** Items of a leaf: few, so that small tables have many leaves. */
const itemsPerLeaf = 20;

/**
 * Writes a store as the service of format 2 did, with LMDB alone: leaves, entries of the journal and records without checksums.
 *
 * @param changes each becomes an entry of the journal, over what the leaves have
 * @returns what the store then has
 */
export async function makeStoreOfFormat2(
  folder: string,
  leaves: Content,
  changes: readonly Change[],
): Promise<Content> {
  mkdirSync(folder, { recursive: true });
  const path = storeFile(folder);
  const root = open<string, string>({ path, overlappingSync: false, maxDbs: 4, encoding: 'string' });
  const byBytes = { keyEncoding: 'binary', encoding: 'binary' } as const;
  const databases = ['records', 'leaves', 'journal'].map((name) =>
    root.openDB<Buffer, Buffer>({ name, ...byBytes }),
  );
  const [records, runs, journal] = databases as [
    (typeof databases)[0],
    (typeof databases)[0],
    (typeof databases)[0],
  ];
  const content: Record<string, readonly Item[]> = { ...leaves };
  root.transactionSync(() => {
    root.putSync('counterfoil', '{"format":2,"id":"0a0b0c0d"}');
    for (const [space, items] of Object.entries(leaves)) {
      for (const [key, run] of leavesOf(space, items)) runs.putSync(key, run);
      records.putSync(Buffer.from(space), Buffer.from(JSON.stringify({ ...sumsOf(items), generation: 1 })));
    }
    for (const [index, change] of changes.entries()) {
      const { space, id, name } = change;
      const others = (content[space] ?? []).filter((item) => item.id !== id);
      content[space] = name === undefined ? others : [...others, { id, name }].sort(byIdBytes);
      const { count, textBytes } = sumsOf(content[space]);
      const entry = { first: 2, spaces: [[space, count, textBytes, [id, name ?? null]]] };
      journal.putSync(numberKey(2 + index), Buffer.from(JSON.stringify(entry)));
    }
  });
  await root.close();
  return content;
}

function leavesOf(space: string, items: readonly Item[]): [Buffer, Buffer][] {
  const sorted = items.toSorted(byIdBytes);
  const runs: [Buffer, Buffer][] = [];
  for (let from = 0; from < sorted.length; from += itemsPerLeaf) {
    const held = sorted.slice(from, from + itemsPerLeaf);
    const isLast = from + itemsPerLeaf >= sorted.length;
    const key = isLast ? `${space}\x01` : `${space}\0${(held.at(-1) as Item).id}`;
    runs.push([Buffer.from(key), plainRun(held)]);
  }
  return runs;
}

function sumsOf(items: readonly Item[]): { readonly count: number; readonly textBytes: number } {
  return { count: items.length, textBytes: items.reduce((sum, item) => sum + textBytesOf(item), 0) };
}

function numberKey(commit: number): Buffer {
  const key = Buffer.alloc(6);
  key.writeUIntBE(commit, 0, 6);
  return key;
}
