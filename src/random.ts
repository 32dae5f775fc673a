import { randomFillSync } from 'node:crypto';

/** Drawn at once: a draw costs a system call, however small it is. */
const poolBytes = 4_096;
const pool = Buffer.alloc(poolBytes);
let used = poolBytes;

/** Bytes of the system's generator, each given out once. @param count at most 4,096 */
export function randomBytes(count: number): Buffer {
  if (used + count > poolBytes) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = Buffer.from(pool.subarray(used, used + count));
  // What is a secret elsewhere does not stay here.
  pool.fill(0, used, used + count);
  used += count;
  return bytes;
}
