import { randomFillSync } from 'node:crypto';

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
