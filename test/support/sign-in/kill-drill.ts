import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { newData, ServeProcess } from '../serve-process.ts';
import { publicUrl } from './app.ts';

const hook = join(import.meta.dirname, 'kill-at-commit.ts');
/** More than any request of these drills makes; a drill that reaches it kills something else. */
const commitsMax = 40;

export const env = { COUNTERFOIL_PUBLIC_URL: publicUrl };
/** The drill kills a process at commits of the embedded store; another store has none of those. */
export const skip =
  process.env.TEST_STORE === 'dynamodb' ? 'kills at commits of the embedded store' : (false as const);

export interface Drill {
  /** A data folder whose service has stopped; each kill has a copy of it. */
  readonly data: string;
  /** Sends the request during which the process is killed. @returns undefined when there was no reply */
  readonly act: (origin: string) => Promise<unknown>;
  /** What must hold of the service that starts after the kill. */
  readonly check: (origin: string, step: string) => Promise<void>;
}

/**
 * Kills a process before and after each commit that a request makes, until the request is one commit too short to be
 * killed. Before a commit is the same disk as after the one in front of it, so that a run without LONG does without.
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
      // The last reply came: this request has no such commit.
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

/** The folder and the key file beside it. */
function copyOf(t: TestContext, data: string): string {
  const copy = newData(t);
  cpSync(dirname(data), dirname(copy), { recursive: true });
  return copy;
}
