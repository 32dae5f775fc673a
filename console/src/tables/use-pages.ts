import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { rowsAhead } from '../limits.ts';
import { useConnection } from '../session.tsx';
import { ItemPages } from './item-pages.ts';

/** The pages of a view, which renders again when they have more; `reload` reads them again from the beginning. */
export function usePages(table: string, from: string | undefined, prefix: string | undefined) {
  const { client } = useConnection();
  const [version, setVersion] = useState(0);
  const [, setRevision] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another version is another reading
  const pages = useMemo(
    () => new ItemPages(client.table(table), { from, prefix }, () => setRevision((revision) => revision + 1)),
    [client, table, from, prefix, version],
  );
  useEffect(() => {
    void pages.need(1);
    return () => pages.stop();
  }, [pages]);
  return {
    pages,
    reached: useCallback((index: number) => void pages.need(index + rowsAhead), [pages]),
    reload: useCallback(() => setVersion((before) => before + 1), []),
  };
}
