import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { LastCommit } from '../../../src/storage/lmdb/last-commit.ts';

/** Several times the pause that an idle store makes between two steps of its folding. */
const quietMs = 400;
const restMsMax = 30_000;

/** Resolves when the store of a file, which nobody writes to, has folded all it had to fold. */
export async function untilAtRest(file: string): Promise<void> {
  const lastCommit = new LastCommit(file);
  try {
    const until = performance.now() + restMsMax;
    for (let seen = -1; seen !== lastCommit.read(); await sleep(quietMs)) {
      seen = lastCommit.read();
      assert.ok(performance.now() < until, 'an idle store writes on and on');
    }
  } finally {
    lastCommit.close();
  }
}
