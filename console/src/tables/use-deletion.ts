import type { Item } from '@counterfoil/client';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { undoMs } from '../limits.ts';
import { useConnection } from '../session.tsx';
import { type Deleted, deleteItems } from './delete-items.ts';

export type DeletionState =
  | { readonly at: 'none' }
  | { readonly at: 'waiting' | 'deleting'; readonly items: readonly Item[] }
  | { readonly at: 'done'; readonly result: Deleted }
  | { readonly at: 'failed'; readonly result: Deleted; readonly error: unknown };

/**
 * Deletes items after `undoMs`, in which the reader can take it back.
 *
 * Nothing is sent before that. The other way, to delete at once and to write the items back, could bring back an old version, or
 * meet an item that somebody has made under the same id; and with the page, the only copy would be gone. So leaving the table or
 * closing the page keeps the items, and the bar says so.
 *
 * @param ended called when items may have been deleted
 */
export function useDeletion(tableName: string, ended: () => void) {
  const { client } = useConnection();
  const [state, setState] = useState<DeletionState>({ at: 'none' });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const latestEnded = useRef(ended);
  latestEnded.current = ended;
  const stop = useCallback(() => clearTimeout(timer.current), []);
  useEffect(() => stop, [stop]);

  const run = async (items: readonly Item[]) => {
    stop();
    setState({ at: 'deleting', items });
    let result: Deleted = { deleted: 0, changed: 0 };
    try {
      await deleteItems(client.table(tableName), items, (done) => {
        result = done;
      });
      setState({ at: 'done', result });
    } catch (error) {
      setState({ at: 'failed', result, error });
    }
    latestEnded.current();
  };
  return {
    state,
    start: (items: readonly Item[]) => {
      stop();
      setState({ at: 'waiting', items });
      timer.current = setTimeout(() => void run(items), undoMs);
    },
    runNow: () => {
      if (state.at === 'waiting') void run(state.items);
    },
    /** Takes a deletion back that waits, or hides the outcome of one. */
    dismiss: () => {
      stop();
      setState({ at: 'none' });
    },
  };
}
