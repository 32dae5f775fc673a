import { closeSync, openSync, statfsSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { diskReserveBytes } from '../limits.ts';

/** Why a transaction was not made. */
export interface Failure {
  readonly kind: 'full' | 'read_only' | 'other';
  readonly reason: string;
}

const byte = Buffer.alloc(1);

/**
 * Looks before each transaction whether the disk can take it. The library (lmdb 3.5) writes beyond its own memory when
 * it reports a failed write, so that after one the process cannot go on.
 */
export class DiskProbe {
  readonly #folder: string;
  readonly #reserveBytes: number;
  /** Written to, because a disk that the system has turned read-only tells it only then. */
  readonly #probe: number;

  /** @param reserveBytes with less than this free the disk counts as full */
  constructor(storeFile: string, reserveBytes = diskReserveBytes) {
    this.#folder = dirname(storeFile);
    this.#reserveBytes = reserveBytes;
    this.#probe = openSync(`${storeFile}-probe`, 'w', 0o600);
  }

  close(): void {
    closeSync(this.#probe);
  }

  /** Undefined when the disk can take so many bytes. */
  whyUnwritable(bytes: number): Failure | undefined {
    try {
      const { bavail, bsize } = statfsSync(this.#folder);
      if (bavail * bsize < this.#reserveBytes + bytes) return { kind: 'full', reason: 'the disk is full' };
      writeSync(this.#probe, byte, 0, 1, 0);
      return undefined;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ENOSPC' || code === 'EDQUOT') return { kind: 'full', reason: message };
      return { kind: code === 'EROFS' ? 'read_only' : 'other', reason: message };
    }
  }
}

/** Whether it is the system's error, of a write or a flush, and not one that LMDB found by itself. */
export function isSystemError(error: Error & { readonly code?: unknown }): boolean {
  return typeof error.code === 'number' && error.code > 0;
}
