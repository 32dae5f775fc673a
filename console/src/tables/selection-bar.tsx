import { useEffect, useRef, useState } from 'preact/hooks';
import { selectedItemsMax, undoMs } from '../limits.ts';
import { Problem } from '../parts/problem.tsx';
import { texts } from '../texts.ts';
import type { useDeletion } from './use-deletion.ts';
import type { useSelection } from './use-selection.ts';

interface SelectionBarProps {
  readonly selection: ReturnType<typeof useSelection>;
  readonly deletion: ReturnType<typeof useDeletion>;
}

/** The selected items, their deletion while it can be undone, and its result. */
export function SelectionBar({ selection, deletion }: SelectionBarProps) {
  const bar = useRef<HTMLDivElement>(null);
  const { state } = deletion;
  // The button that was pressed is gone or disabled, so the next button of the bar gets the focus.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each state has other buttons
  useEffect(() => {
    const { activeElement } = document;
    if (activeElement === document.body || activeElement?.matches(':disabled')) {
      bar.current?.querySelector('button')?.focus({ preventScroll: true });
    }
  }, [state.at]);
  // The bar covers rows instead of moving them.
  if (state.at === 'none' && selection.items.size === 0) return null;
  return (
    <div class="selection" ref={bar}>
      <p role="status">{textOf({ selection, deletion })}</p>
      {state.at === 'none' && (
        <>
          <button type="button" class="danger" onClick={() => deletion.start([...selection.items.values()])}>
            {texts.selection.delete}
          </button>
          <button type="button" onClick={selection.clear}>
            {texts.selection.clear}
          </button>
        </>
      )}
      {state.at === 'waiting' && (
        <>
          <button type="button" class="primary" onClick={deletion.dismiss}>
            {texts.selection.undo} <Countdown />
          </button>
          <button type="button" onClick={deletion.runNow}>
            {texts.selection.now}
          </button>
        </>
      )}
      {state.at === 'failed' && <Problem error={state.error} />}
      {(state.at === 'done' || state.at === 'failed') && (
        <button type="button" onClick={deletion.dismiss}>
          {texts.item.close}
        </button>
      )}
    </div>
  );
}

function textOf({ selection, deletion: { state } }: SelectionBarProps): string {
  const { selected, waiting, deleting, done } = texts.selection;
  switch (state.at) {
    case 'none':
      return selected(selection.items.size, selection.isCut ? selectedItemsMax : undefined);
    case 'waiting':
      return waiting(state.items.length, undoMs / 1_000);
    case 'deleting':
      return deleting(state.items.length);
    case 'done':
    case 'failed':
      return done(state.result.deleted, state.result.changed);
  }
}

/** The seconds that are left. Hidden from screen readers, which would read every second aloud. */
function Countdown() {
  const [left, setLeft] = useState(undoMs / 1_000);
  useEffect(() => {
    const ticking = setInterval(() => setLeft((before) => Math.max(0, before - 1)), 1_000);
    return () => clearInterval(ticking);
  }, []);
  return <span aria-hidden="true">({left})</span>;
}
