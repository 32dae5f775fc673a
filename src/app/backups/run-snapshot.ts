import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import type { BackupPlan, SnapshotResult } from './messages.ts';

const program = new URL(`./snapshot-process${extname(import.meta.url)}`, import.meta.url);

/** Makes a backup in a process of its own. Its result may be a failure; it never rejects. @param signal ends the process early */
export async function runSnapshot(plan: BackupPlan, signal: AbortSignal): Promise<SnapshotResult> {
  const child = fork(program, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill);
  try {
    child.send(plan);
    return await resultOf(child);
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

async function resultOf(child: ChildProcess): Promise<SnapshotResult> {
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
