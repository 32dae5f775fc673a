import { CounterfoilError, type Item, type Table } from '@counterfoil/client';
import { batchBytesMax, batchItemsMax, createAttemptsMax } from '../limits.ts';

/** What to do about an item that the table already has. */
export type OnConflict = 'stop' | 'skip' | 'replace';

export interface Imported {
  readonly written: number;
  readonly skipped: number;
}

/**
 * Writes items in batches. A batch is written whole or not at all.
 *
 * @param progress called after each batch, so that an import that fails or is stopped shows how far it came
 * @param signal stops before the next batch. The current batch ends first, so that the reported progress is true
 */
export async function importItems(
  table: Pick<Table, 'get' | 'batch'>,
  items: readonly Item[],
  onConflict: OnConflict,
  progress: (done: Imported) => void,
  signal: AbortSignal,
): Promise<void> {
  let [written, skipped] = [0, 0];
  for (const batch of batchesOf(items)) {
    if (signal.aborted) return;
    const left = await writeBatch(table, batch, onConflict);
    written += batch.length - left;
    skipped += left;
    progress({ written, skipped });
  }
}

/** @returns how many items were skipped */
async function writeBatch(
  table: Pick<Table, 'get' | 'batch'>,
  batch: readonly Item[],
  onConflict: OnConflict,
): Promise<number> {
  if (onConflict === 'replace') {
    await table.batch(batch.map((item) => ({ put: item })));
    return 0;
  }
  let fresh = batch;
  for (let attempt = 1; ; attempt++) {
    try {
      if (fresh.length > 0) await table.batch(fresh.map((item) => ({ create: item })));
      return batch.length - fresh.length;
    } catch (error) {
      // Somebody may have created one of the items after the look-up. Nothing was written.
      if (onConflict === 'stop' || !isConflict(error) || attempt === createAttemptsMax) throw error;
    }
    const stored = await Promise.all(fresh.map(({ id }) => table.get(id)));
    fresh = fresh.filter((_, index) => stored[index] === undefined);
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof CounterfoilError && error.code === 'item_exists';
}

/** A batch ends before an id that it already has, because no batch can write an item twice. */
function* batchesOf(items: readonly Item[]): Generator<readonly Item[]> {
  const encoder = new TextEncoder();
  let batch = new Map<string, Item>();
  let bytes = 0;
  for (const item of items) {
    const size = encoder.encode(JSON.stringify(item)).length;
    if (batch.size === batchItemsMax || bytes + size > batchBytesMax || batch.has(item.id)) {
      if (batch.size > 0) yield [...batch.values()];
      batch = new Map();
      bytes = 0;
    }
    batch.set(item.id, item);
    bytes += size;
  }
  if (batch.size > 0) yield [...batch.values()];
}
