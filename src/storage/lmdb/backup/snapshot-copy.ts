import { statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { BackupFailed } from '../../../backup/target.ts';
import { diskReserveBytes } from '../../limits.ts';
import { reusableBytes, type Store } from '../store.ts';

/**
 * LMDB's own copy of one snapshot, without free pages: what was deleted from the store is not in it. Throws BackupFailed.
 *
 * @param file of the store
 */
export async function copySnapshot(store: Store, file: string, to: string): Promise<void> {
  checkRoom(file, to, reusableBytes(store));
  try {
    await store.root.backup(to, true);
  } catch (error) {
    throw copyFailed(to, error as Error);
  }
}

/** LMDB reports what the system says without a code. */
function copyFailed(to: string, error: Error): BackupFailed {
  const { message } = error;
  // The copy has fewer pages than those in use and the free list leave: pages of the file are in neither (mdb.c, mdb_env_copyfd1).
  if (message.startsWith('MDB_INCOMPATIBLE'))
    return new BackupFailed(
      'pages_lost',
      'the store is whole, but some pages of its file are neither in use nor known as free, and LMDB copies no such file; stop the ' +
        'service, make a new store from it with `counterfoil store copy`, and go on with that',
      error,
    );
  const isFull = /No space left|File too large|quota exceeded/i.test(message);
  return new BackupFailed(
    isFull ? 'target_full' : 'target_unusable',
    `${dirname(to)}: the copy cannot be written: ${message}`,
    error,
  );
}

/** A copy on the disk of the store must not make that disk full for the service. */
function checkRoom(file: string, to: string, reusable: number): void {
  const folder = resolve(to, '..');
  const { size, dev } = statSync(file);
  const { bavail, bsize } = statfsSync(folder);
  const reserve = statSync(folder).dev === dev ? diskReserveBytes : 0;
  const needed = size - reusable + reserve;
  if (bavail * bsize < needed)
    throw new BackupFailed(
      'target_full',
      `${folder}: has room for ${bavail * bsize} bytes, and the copy needs ${needed}`,
    );
}
