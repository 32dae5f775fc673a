import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { LastCommit } from '../../../src/storage/lmdb/log/snapshots.ts';
import { givenUpMs } from '../busy-machine.ts';

/** Several times the pause of an idle store between two steps of its compaction. */
const quietMs = 400;

/** Resolves when the idle store of a file has compacted everything. */
export async function untilAtRest(file: string): Promise<void> {
  // It stays open: closing it would release the locks of an engine in this process, and another process would take the store for unused.
  const lastCommit = new LastCommit(file);
  const until = performance.now() + givenUpMs;
  for (let seen = -1; seen !== lastCommit.read(); await sleep(quietMs)) {
    seen = lastCommit.read();
    assert.ok(performance.now() < until, 'an idle store keeps writing');
  }
}
