import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { extname } from 'node:path';
import { backupPriority } from '../limits.ts';
import type { BackupPlan, SnapshotResult } from './messages.ts';

const program = new URL(`./snapshot-process${extname(import.meta.url)}`, import.meta.url);

/** Makes a backup in its own process. A failure is a result: it never rejects. @param signal ends the process early */
export async function runSnapshot(plan: BackupPlan, signal: AbortSignal): Promise<SnapshotResult> {
  const child = fork(program, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill);
  try {
    child.send(plan);
    return await waitForResult(child);
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

async function waitForResult(child: ChildProcess): Promise<SnapshotResult> {
  let result: SnapshotResult | undefined;
  child.on('message', (message: SnapshotResult) => {
    result = message;
  });
  const [status, signal] = (await once(child, 'exit')) as [number | null, string | null];
  return (
    result ?? {
      code: 'internal',
      message: `the process of the backup ended by ${signal ?? `status ${status}`}`,
    }
  );
}

/**
 * Gives the whole process the priority of a backup, so that a service on the same machine comes first. On Linux each thread has its
 * own priority, which threads that it starts later inherit.
 */
export function lowerPriority(): void {
  for (const id of [0, ...listThreads()]) {
    try {
      setPriority(id, backupPriority);
    } catch {
      // The thread has ended, or the system does not allow it. Then the backup has the usual priority.
    }
  }
}

function listThreads(): readonly number[] {
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    return [];
  }
}
