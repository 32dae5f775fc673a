import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';

export interface InjectedError {
  /** System calls on the files of the folder that are to fail. */
  readonly calls: readonly string[];
  readonly error: 'EIO' | 'ENOSPC';
  /** The data folder. */
  readonly folder: string;
  /** The count of the call, in each thread, that fails; the others go through. */
  readonly when: number;
}

/**
 * Lets system calls of a running process fail (strace). Resolves when it is attached; it lets go after the
 * test.
 */
export async function injectErrors(
  t: TestContext,
  pid: number,
  { calls, error, folder, when }: InjectedError,
): Promise<void> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((file) => [
    '-P',
    join(folder, file),
  ]);
  const what = ['-e', `trace=${calls}`, '-e', `inject=${calls}:error=${error}:when=${when}`];
  const strace = spawn('strace', ['-f', '-p', String(pid), ...paths, ...what, '-o', '/dev/null'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => endTracing(strace));
  for await (const line of createInterface({ input: strace.stderr })) {
    if (/attached/.test(line)) return;
  }
  throw new Error(`strace could not attach to ${pid}`);
}

/** With SIGTERM it lets go of the process; there is nothing to let go of when that has ended. */
async function endTracing(strace: ChildProcess): Promise<void> {
  if (strace.exitCode !== null || strace.signalCode !== null) return;
  const ended = once(strace, 'exit');
  strace.kill('SIGTERM');
  await ended;
}
