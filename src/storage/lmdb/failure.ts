import { statfsSync } from 'node:fs';

/** Why a transaction could not be made. */
export interface Failure {
  readonly kind: 'full' | 'read_only' | 'other';
  readonly reason: string;
}

/** Linux's error numbers, which the library hands on. */
const noSpace = 28;
const quotaExceeded = 122;
const readOnly = 30;
/** LMDB calls it an I/O error when the disk took a part of what it wrote; the rest of the disk is then less than this. */
const nearlyFullBytes = 8 * 1024 * 1024;

/** @param folder the data folder, on the disk that was written to */
export function failureOf(error: Error & { readonly code?: unknown }, folder: string): Failure {
  const reason = error.message;
  if (error.code === readOnly) return { kind: 'read_only', reason };
  if (error.code === noSpace || error.code === quotaExceeded || isNearlyFull(folder))
    return { kind: 'full', reason };
  return { kind: 'other', reason };
}

function isNearlyFull(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < nearlyFullBytes;
  } catch {
    return false;
  }
}
