import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';

export interface InjectedError {
  /** The system calls that fail, on the files of the folder. */
  readonly calls: readonly string[];
  readonly error: 'EIO' | 'ENOSPC';
  /** The data folder. */
  readonly folder: string;
  /** The number of the call, in each thread, that fails; the others succeed. */
  readonly when: number;
}

/**
 * Makes system calls of a running process fail, by strace. Resolves when strace is attached; it detaches after the
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

/** SIGTERM makes strace detach from the process, unless that has ended. */
async function endTracing(strace: ChildProcess): Promise<void> {
  if (strace.exitCode !== null || strace.signalCode !== null) return;
  const ended = once(strace, 'exit');
  strace.kill('SIGTERM');
  await ended;
}
