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
 * Deletes items after `undoMs`. Until then, the reader can undo the deletion.
 *
 * Nothing is sent before that. The alternative is to delete at once and to write the items back. But it could restore
 * an old version, it could find that somebody has made an item with the same id, and closing the page would lose the
 * only copy. So leaving the table or closing the page keeps the items, and the bar says so.
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
    /** Cancels a waiting deletion, or hides the result of a deletion. */
    dismiss: () => {
      stop();
      setState({ at: 'none' });
    },
  };
}
