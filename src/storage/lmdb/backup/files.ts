import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readBytesMax } from './limits.ts';

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

/** Writes a small file so that it is there whole or not at all. @param draft a path on the same file system */
export function writeWhole(draft: string, to: string, text: string): void {
  writeFileSync(draft, text, { mode: 0o600 });
  flush(draft);
  putInPlace(draft, to);
}

/** The SHA-256 of a file in hexadecimal. @param into where to copy what was read, flushed; the file must not exist */
export async function checksumOf(path: string, into?: string): Promise<string> {
  const hash = createHash('sha256');
  const source = await open(path, 'r');
  const target = into === undefined ? undefined : await open(into, 'wx', 0o600);
  try {
    const buffer = Buffer.allocUnsafe(readBytesMax);
    for (;;) {
      const { bytesRead } = await source.read(buffer, 0, buffer.length);
      if (bytesRead === 0) break;
      const bytes = buffer.subarray(0, bytesRead);
      hash.update(bytes);
      await target?.writeFile(bytes);
    }
    await target?.sync();
  } finally {
    await source.close();
    await target?.close();
  }
  return hash.digest('hex');
}
