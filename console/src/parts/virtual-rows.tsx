import { useVirtualizer } from '@tanstack/react-virtual';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { rowPx } from '../limits.ts';

interface VirtualRowsProps {
  readonly label: string;
  readonly count: number;
  readonly columns: readonly ComponentChildren[];
  /** The cells of a row. One of them contains a link or a button. */
  readonly row: (index: number) => ComponentChildren;
  readonly name: string;
  /** Called with the last visible row. */
  readonly reached?: (index: number) => void;
}

/** A table of which only the visible rows exist. The arrow keys move between its rows. */
export function VirtualRows({ label, count, columns, row, name, reached }: VirtualRowsProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan: 10,
  });
  const visible = virtual.getVirtualItems();
  const last = visible.at(-1)?.index ?? 0;
  useEffect(() => reached?.(last), [last, reached]);

  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const element = (event.target as Element).closest<HTMLElement>('[data-index]');
    if (step === undefined || (element === null && step < 0)) return;
    const index = element === null ? (virtual.range?.startIndex ?? 0) : Number(element.dataset.index) + step;
    if (index < 0 || index >= count) return;
    event.preventDefault();
    virtual.scrollToIndex(index);
    // Moves from the checkbox of a row to that of the next.
    const same = (event.target as Element).matches('input') ? 'input' : ':is(a, button)';
    requestAnimationFrame(() => {
      scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"] ${same}`)?.focus();
    });
  };
  return (
    <div class={`rows ${name}`} role="table" aria-label={label} aria-rowcount={count + 1}>
      <div role="row" class="row head" aria-rowindex={1}>
        {columns.map((column, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the columns stay as they are
          <div role="columnheader" key={index}>
            {column}
          </div>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <div class="scroller" role="rowgroup" ref={scroller} tabIndex={0} aria-label={label} onKeyDown={move}>
        <div role="presentation" style={{ height: `${virtual.getTotalSize()}px`, position: 'relative' }}>
          {visible.map(({ index, start }) => (
            <div
              role="row"
              class="row"
              key={index}
              data-index={index}
              aria-rowindex={index + 2}
              style={{ transform: `translateY(${start}px)` }}
            >
              {row(index)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
