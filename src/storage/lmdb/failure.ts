import { closeSync, openSync, statfsSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { diskReserveBytes } from '../limits.ts';

/** Why a transaction failed. */
export interface Failure {
  readonly kind: 'full' | 'read_only' | 'other';
  readonly reason: string;
}

const byte = Buffer.alloc(1);

/**
 * Checks before each transaction whether the disk has room for it. When the library (lmdb 3.5) reports a failed write, it
 * writes beyond its own memory, so the process cannot continue after one.
 */
export class DiskProbe {
  readonly #folder: string;
  readonly #reserveBytes: number;
  /** A file to write to: only a write detects a disk that the system has made read-only. */
  readonly #probe: number;

  /** @param reserveBytes with less free space than this, the disk counts as full */
  constructor(storeFile: string, reserveBytes = diskReserveBytes) {
    this.#folder = dirname(storeFile);
    this.#reserveBytes = reserveBytes;
    this.#probe = openSync(`${storeFile}-probe`, 'w', 0o600);
  }

  close(): void {
    closeSync(this.#probe);
  }

  /** Undefined when the disk has room for this many bytes. */
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

/** Whether the operating system reported the error, in a write or a flush, and not LMDB itself. */
export function isSystemError(error: Error & { readonly code?: unknown }): boolean {
  return typeof error.code === 'number' && error.code > 0;
}
