import { crc32 } from 'node:zlib';

/**
 * Every value of the store ends with a CRC-32 of its key and its content, little-endian. The key is part of it, so that a value that
 * has come to another place is found too. docs/decisions/leaf-store.md says why it is this one.
 */
export const checksumBytes = 4;

/** The content with its checksum, as it is stored. */
export function sealed(key: string | number, content: Buffer): Buffer {
  const stored = Buffer.allocUnsafe(content.length + checksumBytes);
  content.copy(stored);
  stored.writeUInt32LE(checksumOf(key, content), content.length);
  return stored;
}

/** The content of a stored value, in the same memory. */
export function contentOf(stored: Buffer): Buffer {
  return stored.subarray(0, Math.max(0, stored.length - checksumBytes));
}

export function isIntact(key: string | number, stored: Buffer): boolean {
  if (stored.length < checksumBytes) return false;
  const content = contentOf(stored);
  return stored.readUInt32LE(content.length) === checksumOf(key, content);
}

/** Two keys of one length that differ in one byte never begin with the same number. */
function checksumOf(key: string | number, content: Buffer): number {
  return crc32(content, typeof key === 'string' ? crc32(key) : foldedTo32Bits(key));
}

/** Each bit of a commit's number counts; below 2^32 it is the number itself. */
function foldedTo32Bits(commit: number): number {
  return ((commit % 2 ** 32) ^ Math.floor(commit / 2 ** 32)) >>> 0;
}
