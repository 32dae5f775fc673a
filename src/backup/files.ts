import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Files that survive a power cut once a call has returned. */

/** Flushes a file or a folder. */
export function flush(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Renames a flushed file within a file system, and flushes the folder that has it then. */
export function putInPlace(from: string, to: string): void {
  renameSync(from, to);
  flush(dirname(to));
}

/** Writes a small file that only its owner can read, and flushes it. */
export function writeFlushed(path: string, bytes: Uint8Array): void {
  writeFileSync(path, bytes, { mode: 0o600 });
  flush(path);
}
