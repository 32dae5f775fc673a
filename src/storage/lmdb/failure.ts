import { accessSync, constants, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { diskReserveBytes } from '../../limits.ts';

/** Why a transaction was not made. */
export interface Failure {
  readonly kind: 'full' | 'read_only' | 'other';
  readonly reason: string;
}

/**
 * Why the disk cannot take a transaction, or undefined when it can. It is asked beforehand: the library (lmdb 3.5)
 * writes beyond its own memory when it reports a failed write, so that after one the process cannot go on.
 *
 * @param bytes that are to be written, about
 */
export function whyUnwritable(storeFile: string, bytes: number): Failure | undefined {
  try {
    accessSync(storeFile, constants.W_OK);
    const { bavail, bsize } = statfsSync(dirname(storeFile));
    if (bavail * bsize >= diskReserveBytes + bytes) return undefined;
    return { kind: 'full', reason: 'the disk is full' };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { kind: code === 'EROFS' ? 'read_only' : 'other', reason: message };
  }
}

/** Whether it is the system's error, of a write or a flush, and not one that LMDB found by itself. */
export function isSystemError(error: Error & { readonly code?: unknown }): boolean {
  return typeof error.code === 'number' && error.code > 0;
}
