import { existsSync } from 'node:fs';
import type { RootDatabase } from 'lmdb';
import { openStoreToRead } from '../store.ts';

/** The other processes that have the store open (`openProcessesOf`). */
export async function processesOn(file: string): Promise<readonly number[]> {
  if (!existsSync(file)) return [];
  const store = openStoreToRead(file);
  try {
    return otherProcessesOn(store.root);
  } finally {
    await store.close();
  }
}

/**
 * `processesOn` of an open store. A process that has read stays in LMDB's reader table until it closes the store; opening a store reads
 * in it.
 */
export function otherProcessesOn(root: RootDatabase<string, string>): readonly number[] {
  root.readerCheck();
  const pids = [...root.readerList().matchAll(/^\s*(\d+) /gm)].map(([, pid]) => Number(pid));
  return [...new Set(pids)].filter((pid) => pid !== process.pid);
}
