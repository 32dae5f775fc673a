import { CounterfoilError, type Item, type Table } from '@counterfoil/client';
import { batchBytesMax, batchItemsMax } from '../limits.ts';

/** What to do about an item that the table already has. */
export type OnConflict = 'stop' | 'skip' | 'replace';

export interface Imported {
  readonly written: number;
  readonly skipped: number;
}

/**
 * Creates items in batches, each of which is written whole or not at all.
 *
 * @param progress called after each batch, so that a failed import shows how far it came
 */
export async function importItems(
  table: Table,
  items: readonly Item[],
  onConflict: OnConflict,
  progress: (done: Imported) => void,
  signal: AbortSignal,
): Promise<void> {
  let [written, skipped] = [0, 0];
  for (const batch of batchesOf(items)) {
    const left = await writeBatch(table, batch, onConflict, signal);
    written += batch.length - left;
    skipped += left;
    progress({ written, skipped });
  }
}

/** @returns how many items were skipped */
async function writeBatch(
  table: Table,
  batch: readonly Item[],
  onConflict: OnConflict,
  signal: AbortSignal,
): Promise<number> {
  try {
    await table.batch(
      batch.map((item) => ({ create: item })),
      { signal },
    );
    return 0;
  } catch (error) {
    if (onConflict === 'stop' || !isConflict(error)) throw error;
  }
  let skipped = 0;
  for (const item of batch) {
    if (onConflict === 'replace') await table.put(item, { signal });
    else if (!(await created(table, item, signal))) skipped++;
  }
  return skipped;
}

async function created(table: Table, item: Item, signal: AbortSignal): Promise<boolean> {
  try {
    await table.create(item, { signal });
    return true;
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof CounterfoilError && error.code === 'item_exists';
}

/** A batch ends before an id that it has: no batch writes an item twice. */
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
