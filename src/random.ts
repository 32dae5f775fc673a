import { hash, randomFillSync } from 'node:crypto';

/** The pool is filled at once: every fill costs a system call, however small it is. */
const poolBytes = 4_096;
const pool = Buffer.alloc(poolBytes);
let used = poolBytes;

/** Bytes of the system's random generator; each is returned once. @param count at most 4,096 */
export function randomBytes(count: number): Buffer {
  if (used + count > poolBytes) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = Buffer.from(pool.subarray(used, used + count));
  // The bytes may become a secret: erase them here.
  pool.fill(0, used, used + count);
  used += count;
  return bytes;
}

/** 256 bits cannot be guessed and never repeat. */
const secretBytes = 32;

/** A new secret: 43 characters of base64url. */
export function randomText(): string {
  return randomBytes(secretBytes).toString('base64url');
}

/**
 * SHA-256 of a random secret, in base64url. The store has only digests, so that its reader cannot sign in with them. A slow hash, as for
 * passwords, would add nothing to 256 random bits, and it would slow down every request.
 */
export function digest(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** An id that sorts by its time: 48 bits of milliseconds and 80 random bits (as a ULID), in hexadecimal behind a prefix. */
export function timeOrderedId(prefix: string, now: number): string {
  return `${idsFrom(prefix, now)}${randomBytes(10).toString('hex')}`;
}

/** What the ids of this millisecond begin with. */
export function idsFrom(prefix: string, now: number): string {
  return `${prefix}_${now.toString(16).padStart(12, '0')}`;
}
