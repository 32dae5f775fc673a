import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { KeysetPages, type KeysetSource } from './keyset-pages.ts';

/**
 * The pages of a view. The view renders again when there are more rows; `reload` reads the pages again from the
 * beginning.
 *
 * @param source the same object as long as it is the same list
 * @param ahead how many rows below the last visible one are loaded
 */
export function useKeysetPages<Row extends { readonly id: string }>(
  source: KeysetSource<Row>,
  from: string | undefined,
  ahead: number,
) {
  const [version, setVersion] = useState(0);
  const [, setRevision] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another version is another reading
  const pages = useMemo(
    () => new KeysetPages(source, from, () => setRevision((revision) => revision + 1)),
    [source, from, version],
  );
  useEffect(() => {
    void pages.need(1);
    return () => pages.stop();
  }, [pages]);
  return {
    pages,
    reached: useCallback((index: number) => void pages.need(index + ahead), [pages, ahead]),
    reload: useCallback(() => setVersion((before) => before + 1), []),
  };
}
