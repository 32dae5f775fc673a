import { existsSync } from 'node:fs';
import { openStore, type Store } from './store.ts';

/** The other processes that have the store open (`openProcessesOf`). */
export async function processesOn(file: string): Promise<readonly number[]> {
  if (!existsSync(file)) return [];
  const store = openStore(file);
  try {
    return openProcessesOf(store);
  } finally {
    await store.close();
  }
}

/**
 * A process that has read stays in LMDB's reader table until it closes the store; LMDB removes killed processes. Opening a store
 * reads in it.
 */
export function openProcessesOf({ root }: Pick<Store, 'root'>): readonly number[] {
  const pids = [...root.readerList().matchAll(/^\s*(\d+) /gm)].map(([, pid]) => Number(pid));
  return [...new Set(pids)].filter((pid) => pid !== process.pid);
}
