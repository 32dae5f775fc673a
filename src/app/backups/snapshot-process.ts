import { BackupFailed } from '../../backup/target.ts';
import { SettingsError } from '../../errors.ts';
import { makeBackup, openTarget } from './adapters.ts';
import type { BackupPlan, SnapshotResult } from './messages.ts';
import { lowerPriority } from './run-snapshot.ts';

/**
 * The process of one backup, which the agent starts. It has a lower priority than the service, and frees its memory at its end. If LMDB
 * crashes on a damaged file, only this process ends. Receives a BackupPlan and sends a SnapshotResult.
 */
lowerPriority();
process.once('disconnect', () => process.exit(1));
process.once('message', (plan: BackupPlan) => {
  void make(plan)
    .catch(describeFailure)
    .then((result) => process.send?.(result, () => process.exit(0)));
});

async function make({ file, backup }: BackupPlan): Promise<SnapshotResult> {
  const target = await openTarget({ backup }, backup.target);
  try {
    const { name, time } = await makeBackup(file, target, { keep: backup.keep });
    return { name, madeAt: Date.parse(time) };
  } finally {
    target.close();
  }
}

function describeFailure(error: unknown): SnapshotResult {
  if (error instanceof BackupFailed) return { code: error.code, message: error.message };
  if (error instanceof SettingsError) return { code: 'invalid_settings', message: error.problems.join('; ') };
  return { code: 'internal', message: (error as Error).message };
}
