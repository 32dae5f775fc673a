import type { Item } from '@counterfoil/client';
import { useMemo } from 'preact/hooks';
import { itemsPerPage, rowsAhead } from '../limits.ts';
import type { KeysetPages, KeysetSource } from '../parts/keyset-pages.ts';
import { useKeysetPages } from '../parts/use-keyset-pages.ts';
import { useConnection } from '../session.tsx';

export type ItemPages = KeysetPages<Item>;

/** The items of a table from an id on, or only those whose ids have a prefix. */
export function useItemPages(table: string, from: string | undefined, prefix: string | undefined) {
  const { client } = useConnection();
  const source = useMemo<KeysetSource<Item>>(() => {
    const items = client.table(table);
    return {
      after: async (after, signal) => {
        const { value, done } = await items.pages({ after, limit: itemsPerPage, prefix, signal }).next();
        return done ? [] : value;
      },
      find: async (id, signal) => {
        const item = await items.get(id, { signal });
        return item?.id.startsWith(prefix ?? '') ? { id: item.id, name: item.name } : undefined;
      },
    };
  }, [client, table, prefix]);
  return useKeysetPages(source, from, rowsAhead);
}
