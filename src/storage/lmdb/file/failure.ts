import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { ServiceError } from '../../../errors.ts';
import { diskFreeingReserveBytes, diskReserveBytes } from '../../limits.ts';

/** Why a transaction failed. `low`: the disk has room only for commits that free space. */
export interface Failure {
  readonly kind: 'full' | 'low' | 'read_only' | 'gone' | 'other';
  readonly reason: string;
}

/** The error of a commit that failed for this reason. */
export function storeError({ kind, reason }: Failure): ServiceError {
  const detail = `the store could not be written: ${reason}`;
  if (kind === 'full' || kind === 'low') return new ServiceError('storage_full', { detail });
  if (kind === 'other') return new ServiceError('unavailable', { detail });
  if (kind === 'gone')
    return new ServiceError('unavailable', {
      message: 'The file of the store was removed or replaced; nothing was written.',
      detail,
    });
  return new ServiceError('unavailable', { message: 'The disk is read-only; nothing was written.', detail });
}

const byte = Buffer.alloc(1);
/** The probe's file holds the number of the last commit, then the byte that is written before each transaction. */
const numberBytes = 6;
const byteAt = 8;

/**
 * The last commit that a process has noted beside the store. If the store lacks it, the store's file was overwritten with an older
 * one. 0 if nothing is noted.
 */
export function notedCommit(storeFile: string): number {
  const file = `${storeFile}-probe`;
  const bytes = existsSync(file) ? readFileSync(file) : byte;
  return bytes.length < numberBytes ? 0 : bytes.readUIntLE(0, numberBytes);
}

export function noteCommit(storeFile: string, commit: number): void {
  const probe = openSync(`${storeFile}-probe`, constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    writeSync(probe, encodeCommit(commit), 0, numberBytes, 0);
  } finally {
    closeSync(probe);
  }
}

function encodeCommit(commit: number): Buffer {
  const number = Buffer.alloc(numberBytes);
  number.writeUIntLE(commit, 0, numberBytes);
  return number;
}

/**
 * Checks before each transaction whether the store's files are still in place, and whether the disk has room. A write to a file
 * that was removed or replaced succeeds, and is lost when the process ends. When the library (lmdb 3.5) reports a failed write, it
 * writes beyond its own memory, so the process cannot continue.
 */
export class DiskProbe {
  readonly #folder: string;
  /** The identity of each file of the store at the time of opening: LMDB's data, and its lock, on which other processes wait. */
  readonly #files: readonly { readonly path: string; readonly identity: string }[];
  readonly #reserveBytes: number;
  readonly #reusableBytes: () => number;
  /** A file to write to: only a write detects a disk that the system has made read-only. */
  readonly #probe: number;

  /**
   * @param storeFile of a store that has just been opened
   * @param reusableBytes the free pages within the store's file
   * @param reserveBytes with less free space than this, the disk counts as full
   */
  constructor(storeFile: string, reusableBytes: () => number, reserveBytes = diskReserveBytes) {
    this.#folder = dirname(storeFile);
    this.#files = [storeFile, `${storeFile}-lock`].map((path) => ({ path, identity: inodeName(path) }));
    this.#reserveBytes = reserveBytes;
    this.#reusableBytes = reusableBytes;
    this.#probe = openSync(`${storeFile}-probe`, constants.O_RDWR | constants.O_CREAT, 0o600);
  }

  close(): void {
    closeSync(this.#probe);
  }

  /**
   * Undefined if the disk has room for this many bytes.
   *
   * @param freeingBytes the bytes of the commits that may free space; all by default
   */
  whyUnwritable(bytes: number, freeingBytes = () => bytes): Failure | undefined {
    try {
      const moved = this.#files.find(({ path, identity }) => inodeName(path) !== identity);
      if (moved !== undefined) return { kind: 'gone', reason: `${moved.path} was removed or replaced` };
      const { bavail, bsize } = statfsSync(this.#folder);
      const lack = this.#findLack(bavail * bsize, bytes, freeingBytes);
      if (lack === 'full') return { kind: lack, reason: 'the disk is full' };
      writeSync(this.#probe, byte, 0, 1, byteAt);
      return lack && { kind: lack, reason: 'the disk is full' };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ENOSPC' || code === 'EDQUOT') return { kind: 'full', reason: message };
      return { kind: code === 'EROFS' ? 'read_only' : 'other', reason: message };
    }
  }

  /** Notes a commit after its flush. A note that is lost does no harm. */
  note(commit: number): void {
    try {
      writeSync(this.#probe, encodeCommit(commit), 0, numberBytes, 0);
    } catch {
      // The next transaction finds the disk full.
    }
  }

  #findLack(free: number, bytes: number, freeingBytes: () => number): 'full' | 'low' | undefined {
    if (free >= this.#reserveBytes + bytes) return undefined;
    const reserve = Math.min(diskFreeingReserveBytes, this.#reserveBytes);
    // A snapshot may still need some of the free pages. Then the file grows, but never into the lower reserve.
    if (free >= reserve + bytes && this.#reusableBytes() >= this.#reserveBytes + bytes) return undefined;
    return free >= reserve + freeingBytes() ? 'low' : 'full';
  }
}

/** Empty if there is no such file. */
function inodeName(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.dev}:${found.ino}`;
}

/** Whether the operating system reported the error in a write or a flush, and not LMDB itself. */
export function isSystemError(error: Error & { readonly code?: unknown }): boolean {
  return typeof error.code === 'number' && error.code > 0;
}
