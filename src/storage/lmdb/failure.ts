import { closeSync, openSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { diskReserveBytes } from '../limits.ts';

/** Why a transaction failed. */
export interface Failure {
  readonly kind: 'full' | 'read_only' | 'gone' | 'other';
  readonly reason: string;
}

const byte = Buffer.alloc(1);

/**
 * Checks before each transaction whether the store's files are still in place, and whether the disk has room for it. A
 * write to a file that was removed or replaced succeeds, and is lost when the process ends. When the library (lmdb 3.5) reports a failed write, it
 * writes beyond its own memory, so the process cannot continue after one.
 */
export class DiskProbe {
  readonly #folder: string;
  /** The identity of each file of the store, as it was opened: LMDB's data, and its lock, by which other processes wait. */
  readonly #files: readonly { readonly path: string; readonly identity: string }[];
  readonly #reserveBytes: number;
  /** A file to write to: only a write detects a disk that the system has made read-only. */
  readonly #probe: number;

  /**
   * @param storeFile of a store that has just been opened
   * @param reserveBytes with less free space than this, the disk counts as full
   */
  constructor(storeFile: string, reserveBytes = diskReserveBytes) {
    this.#folder = dirname(storeFile);
    this.#files = [storeFile, `${storeFile}-lock`].map((path) => ({ path, identity: identityOf(path) }));
    this.#reserveBytes = reserveBytes;
    this.#probe = openSync(`${storeFile}-probe`, 'w', 0o600);
  }

  close(): void {
    closeSync(this.#probe);
  }

  /** Undefined when the disk has room for this many bytes. */
  whyUnwritable(bytes: number): Failure | undefined {
    try {
      const moved = this.#files.find(({ path, identity }) => identityOf(path) !== identity);
      if (moved !== undefined) return { kind: 'gone', reason: `${moved.path} was removed or replaced` };
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

/** Empty when there is no such file. */
function identityOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.dev}:${found.ino}`;
}

/** Whether the operating system reported the error, in a write or a flush, and not LMDB itself. */
export function isSystemError(error: Error & { readonly code?: unknown }): boolean {
  return typeof error.code === 'number' && error.code > 0;
}
