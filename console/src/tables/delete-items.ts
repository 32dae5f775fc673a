import { CounterfoilError, type Item, type Table } from '@counterfoil/client';
import { batchItemsMax, deleteAttemptsMax } from '../limits.ts';

export interface Deleted {
  readonly deleted: number;
  /** Items that stay, because somebody has changed them since the reader saw them. */
  readonly changed: number;
}

/**
 * Deletes items in batches, if they are still as the reader saw them. A batch is deleted whole or not at all.
 *
 * A batch has no `If-Match`, so the items are read once more right before it. An item that somebody changes between
 * these two requests is deleted too.
 *
 * @param progress called after each batch, so that a failure shows how far the deletion came
 */
export async function deleteItems(
  table: Pick<Table, 'get' | 'batch'>,
  items: readonly Item[],
  progress: (done: Deleted) => void,
): Promise<void> {
  let [deleted, changed] = [0, 0];
  for (let first = 0; first < items.length; first += batchItemsMax) {
    const done = await deleteBatch(table, items.slice(first, first + batchItemsMax));
    deleted += done.deleted;
    changed += done.changed;
    progress({ deleted, changed });
  }
}

async function deleteBatch(table: Pick<Table, 'get' | 'batch'>, batch: readonly Item[]): Promise<Deleted> {
  for (let attempt = 1; ; attempt++) {
    const stored = await Promise.all(batch.map(({ id }) => table.get(id)));
    const same = batch.filter(({ name }, index) => stored[index]?.name === name);
    const changed = stored.filter((item, index) => item !== undefined && item.name !== batch[index]?.name);
    try {
      if (same.length > 0) await table.batch(same.map(({ id }) => ({ delete: { id } })));
      return { deleted: same.length, changed: changed.length };
    } catch (error) {
      // Somebody has deleted one of the items after it was read. Nothing was written.
      const isGone = error instanceof CounterfoilError && error.code === 'item_not_found';
      if (!isGone || attempt === deleteAttemptsMax) throw error;
    }
  }
}
