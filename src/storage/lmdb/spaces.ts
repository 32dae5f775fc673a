import { type Database, open, type RootDatabase } from 'lmdb';
import type { Space } from '../engine.ts';

/** The LMDB environment of a data folder and its two databases; each thread of a process opens it for itself. */
export interface Spaces {
  readonly root: RootDatabase;
  /** By space; that it is there says that the space was made. */
  readonly made: Database<string, string>;
  /** By `itemKey`, each item as its JSON text. */
  readonly items: Database<string, string>;
}

/**
 * Keys are never read back: the value tells the id, and decoding a key per entry would cost more than reading it.
 */
const keyEncoder = {
  writeKey: (key: string, target: Buffer, position: number) => position + target.write(key, position),
  readKey: () => '',
};

/**
 * `overlappingSync: false` makes a commit visible only after its flush: with the library's default a reader could
 * see what a power cut then takes back.
 */
export function openSpaces(file: string): Spaces {
  const root = open({ path: file, overlappingSync: false, maxDbs: 2 });
  const texts = { keyEncoder, encoding: 'string' } as const;
  return {
    root,
    made: root.openDB({ name: 'spaces', ...texts }),
    items: root.openDB({ name: 'items', ...texts }),
  };
}

/** A space's name holds no zero byte, so no key of one space sorts among those of another. */
export function itemKey(space: Space, id: string): string {
  return `${space}\0${id}`;
}
