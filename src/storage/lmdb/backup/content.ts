import { lastEntry } from '../journal.ts';
import { Memtable } from '../memtable.ts';
import { shippedOf } from '../retained.ts';
import { openStoreToRead } from '../store.ts';
import type { Manifest } from './manifest.ts';

type Content = Pick<
  Manifest,
  'position' | 'last_commit_at' | 'store_id' | 'chain' | 'counts' | 'store_format'
>;

/** The last commit of a store that nobody writes to, and what it holds. */
export async function contentOf(file: string): Promise<Content> {
  const store = openStoreToRead(file);
  try {
    const memtable = new Memtable(store);
    memtable.catchUp();
    const counts: Record<string, number> = { tables: 0, table_items: 0 };
    for (const space of memtable.spaces()) {
      const count = memtable.record(space)?.count ?? 0;
      const [family = '', kind = ''] = space.split(':');
      if (family === 'table') {
        counts.tables = (counts.tables ?? 0) + 1;
        counts.table_items = (counts.table_items ?? 0) + count;
      } else if (count > 0) counts[kind.replaceAll('-', '_')] = count;
    }
    const at = lastEntry(store)?.entry.at;
    const chain = shippedOf(store)?.chain;
    return {
      position: memtable.last,
      ...(at === undefined ? {} : { last_commit_at: new Date(at).toISOString() }),
      ...(chain === undefined ? {} : { chain }),
      ...{ store_id: store.format.id, counts, store_format: store.format.format },
    };
  } finally {
    await store.close();
  }
}
