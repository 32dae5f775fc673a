import type { Item } from '@counterfoil/client';
import { useCallback, useRef, useState } from 'preact/hooks';
import { selectedItemsMax } from '../limits.ts';
import type { ItemPages } from './use-item-pages.ts';

type Items = ReadonlyMap<string, Item>;
interface Chosen {
  /**
   * The rows among which the items were selected. Other rows begin without a selection, so that nobody deletes items
   * that are out of sight.
   */
  readonly from: ItemPages;
  readonly items: Items;
  readonly isCut: boolean;
}

/** The items that the reader has selected, as they were then; at most `selectedItemsMax`. */
export function useSelection(pages: ItemPages) {
  const [chosen, setChosen] = useState<Chosen>();
  const anchor = useRef<{ readonly pages: ItemPages; readonly index: number } | undefined>(undefined);
  const current = chosen?.from === pages ? chosen : undefined;
  const items: Items = current?.items ?? none;
  const add = useCallback(
    async (first: number, last: number) => {
      const found = await pages.between(first, Math.min(last, first + selectedItemsMax - 1));
      setChosen((before) => {
        const all = new Map(before?.from === pages ? before.items : none);
        for (const item of found) if (all.size < selectedItemsMax) all.set(item.id, item);
        const isCut = last - first >= selectedItemsMax || found.some(({ id }) => !all.has(id));
        return { from: pages, items: all, isCut };
      });
    },
    [pages],
  );
  return {
    items,
    /** Whether the reader has tried to select more items than the selection can hold. */
    isCut: current?.isCut ?? false,
    toggle: (index: number, item: Item) => {
      anchor.current = { pages, index };
      const all = new Map(items);
      if (!all.delete(item.id) && all.size < selectedItemsMax) all.set(item.id, item);
      setChosen({
        from: pages,
        items: all,
        isCut: items.size === selectedItemsMax && all.size === items.size,
      });
    },
    /** Adds the rows from the one that was selected last, or, if there is none, from the given one. */
    extendTo: (index: number, otherwise: number) => {
      const start = anchor.current?.pages === pages ? anchor.current.index : otherwise;
      anchor.current = { pages, index: start };
      void add(Math.min(start, index), Math.max(start, index));
    },
    /** Adds all rows that are loaded. */
    addAll: () => void add(0, pages.count - 1),
    clear: () => setChosen(undefined),
  };
}

const none: Items = new Map();
