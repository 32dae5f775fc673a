import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { flush } from '../../../src/durable-files.ts';
import type { Space, Write } from '../../../src/storage/engine.ts';
import { commitWritesMax } from '../../../src/storage/limits.ts';
import { openLmdbEngine, storeFile } from '../../../src/storage/lmdb/open.ts';
import { itemsIn } from '../backup/continuous-store.ts';

/** Stores with a table `t`, for a disk whose power is cut. */
const space: Space = 'table:t';

/** Copies a store to a folder, of which a cut then takes nothing. @returns the folder */
export function flushedCopyOf(source: string, folder: string): string {
  mkdirSync(folder, { mode: 0o700 });
  copyFileSync(storeFile(source), storeFile(folder));
  for (const path of [storeFile(folder), folder, dirname(folder)]) flush(path);
  return folder;
}

export async function itemsOfStore(data: string): Promise<Map<string, string>> {
  const engine = openLmdbEngine(data);
  try {
    return await itemsIn(engine, space);
  } finally {
    await engine.close();
  }
}

/** Makes a store from which most items were deleted. @returns its items */
export async function mostlyFree(data: string): Promise<Map<string, string>> {
  const engine = openLmdbEngine(data);
  const ids = Array.from({ length: 4_000 }, (_, n) => String(n).padStart(6, '0'));
  const value = 'x'.repeat(1_000);
  await commitAll(ids.map((id) => ({ kind: 'create', space, id, value, makeSpace: true })));
  await commitAll(ids.slice(500).map((id) => ({ kind: 'delete', space, id })));
  await engine.close();
  return new Map(ids.slice(0, 500).map((id) => [id, value]));

  async function commitAll(writes: readonly Write[]): Promise<void> {
    for (let first = 0; first < writes.length; first += commitWritesMax)
      assert.equal(await engine.commit(writes.slice(first, first + commitWritesMax)), undefined);
  }
}
