import type { Item } from '@counterfoil/client';
import { VirtualRows } from '../parts/virtual-rows.tsx';
import { texts } from '../texts.ts';
import type { ItemPages } from './use-item-pages.ts';
import type { useSelection } from './use-selection.ts';

type Selection = ReturnType<typeof useSelection>;

interface ItemRowsProps {
  readonly table: string;
  readonly pages: ItemPages;
  readonly reached: (index: number) => void;
  readonly open: (id: string) => void;
  /** Undefined if the reader may not delete items. */
  readonly selection: Selection | undefined;
  /** Ids of the items that will be deleted unless the reader undoes it; undefined if there is no deletion. */
  readonly leaving: ReadonlySet<string> | undefined;
  readonly deleteChosen: () => void;
}

/** More characters than a row can show. The dialog shows the whole name. */
const charactersShownMax = 300;

/** The rows of items. The reader can open an item, or select several. */
export function ItemRows({ table, pages, reached, open, selection, leaving, deleteChosen }: ItemRowsProps) {
  const { id, name } = texts.tables.itemColumns;
  const isLocked = leaving !== undefined;
  return (
    <VirtualRows
      label={table}
      name={selection === undefined ? 'items' : 'items selectable'}
      count={pages.count}
      columns={
        selection === undefined
          ? [id, name]
          : [<SelectAll key="all" pages={pages} selection={selection} isLocked={isLocked} />, id, name]
      }
      reached={reached}
      row={(index) => {
        const item = pages.at(index);
        const state = item !== undefined && leaving?.has(item.id) ? 'leaving' : undefined;
        return (
          <>
            {selection !== undefined && (
              <div role="cell">
                {item !== undefined && (
                  <Choice
                    index={index}
                    item={item}
                    selection={selection}
                    isLocked={isLocked}
                    deleteChosen={deleteChosen}
                  />
                )}
              </div>
            )}
            <div role="cell" class={state}>
              {item !== undefined && (
                <button
                  type="button"
                  class="link"
                  aria-label={texts.tables.edit(item.id)}
                  onClick={() => open(item.id)}
                >
                  {item.id}
                </button>
              )}
            </div>
            <div role="cell" class={state}>
              {item?.name.slice(0, charactersShownMax)}
            </div>
          </>
        );
      }}
    />
  );
}

/** Selects one item; with Shift, all items from the last selected one to it. */
function Choice({
  index,
  item,
  selection,
  isLocked,
  deleteChosen,
}: {
  readonly index: number;
  readonly item: Item;
  readonly selection: Selection;
  readonly isLocked: boolean;
  readonly deleteChosen: () => void;
}) {
  const isChosen = selection.items.has(item.id);
  return (
    <input
      type="checkbox"
      aria-label={texts.selection.select(item.id)}
      checked={isChosen}
      disabled={isLocked}
      onClick={(event) => {
        if (event.shiftKey) selection.extendTo(index, index);
        else selection.toggle(index, item);
        // The selection decides whether the item is checked, because it can be full.
        event.currentTarget.checked = isChosen;
      }}
      onKeyDown={(event) => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (event.key === 'Delete' && selection.items.size > 0) deleteChosen();
        if (event.shiftKey && step !== undefined) selection.extendTo(index + step, index);
      }}
    />
  );
}

function SelectAll({
  pages,
  selection,
  isLocked,
}: {
  readonly pages: ItemPages;
  readonly selection: Selection;
  readonly isLocked: boolean;
}) {
  const isAll = pages.count > 0 && selection.items.size >= pages.count;
  return (
    <input
      type="checkbox"
      aria-label={texts.selection.all}
      checked={isAll}
      disabled={isLocked || pages.count === 0}
      onClick={(event) => {
        if (selection.items.size > 0) selection.clear();
        else selection.addAll();
        event.currentTarget.checked = isAll;
      }}
    />
  );
}
