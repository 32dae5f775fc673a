import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { newData, ServeProcess } from '../serve-process.ts';
import { publicUrl } from './app.ts';

const hook = join(import.meta.dirname, 'kill-at-commit.ts');
/** More commits than any request of these drills makes. */
const commitsMax = 40;

export const env = { COUNTERFOIL_PUBLIC_URL: publicUrl };
/** The drill kills a process at commits of the embedded store, which other stores do not have. */
export const skip =
  process.env.TEST_STORE === 'dynamodb' ? 'kills at commits of the embedded store' : (false as const);

export interface Drill {
  /** The data folder of a stopped service; each kill uses a copy of it. */
  readonly data: string;
  /** Sends the request during which the process is killed. @returns undefined if there was no response */
  readonly act: (origin: string) => Promise<unknown>;
  /** Checks the service that starts after the kill. */
  readonly check: (origin: string, step: string) => Promise<void>;
}

/**
 * Kills a process before and after each commit of a request, until the request has no further commit. The disk before a
 * commit is the same as after the previous one, so that a run without LONG skips these.
 */
export async function killAtEachCommit(t: TestContext, drill: Drill): Promise<void> {
  for (let commit = 1; commit <= commitsMax; commit++) {
    const isWhole = process.env.LONG === '1' || commit === 1;
    for (const when of isWhole ? ['before', 'after'] : ['after']) {
      const step = `${when} ${commit}`;
      const data = copyOf(t, drill.data);
      const hooked = { ...env, NODE_OPTIONS: `--import ${hook}`, KILL_AT: step };
      const killed = await ServeProcess.start(t, { data, env: hooked });
      const reply = await drill.act(await killed.ready());
      await killed.kill();
      // The request got a response, so it has no such commit.
      const isOver = reply !== undefined;
      assert.ok(!(isOver && commit === 1), 'a request that changes something has a commit');
      const restarted = await ServeProcess.start(t, { data, env });
      await drill.check(await restarted.ready(), isOver ? 'not killed' : `killed ${step}`);
      await restarted.kill();
      if (isOver) return;
    }
  }
  assert.fail(`more than ${commitsMax} commits`);
}

/** Copies the folder and the key file next to it. */
function copyOf(t: TestContext, data: string): string {
  const copy = newData(t);
  cpSync(dirname(data), dirname(copy), { recursive: true });
  return copy;
}
