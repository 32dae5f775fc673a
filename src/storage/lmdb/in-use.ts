import { existsSync } from 'node:fs';
import { openStore } from './store.ts';

/**
 * The processes, others than this one, that have the store open: each that has ever read keeps a place in LMDB's table of
 * readers until it lets go of the store, and of those that were killed LMDB frees it. A service reads when it starts.
 */
export async function processesOn(file: string): Promise<readonly number[]> {
  if (!existsSync(file)) return [];
  const store = openStore(file);
  try {
    const pids = [...store.root.readerList().matchAll(/^\s*(\d+) /gm)].map(([, pid]) => Number(pid));
    return [...new Set(pids)].filter((pid) => pid !== process.pid);
  } finally {
    await store.close();
  }
}
