import { backupsIn, openTarget } from '../app/backup-adapters.ts';
import { type Schedule, scheduleOf } from '../app/backups/schedule.ts';
import { clockSlackMs } from '../app/limits.ts';
import { BackupFailed } from '../backup/target.ts';
import { SettingsError } from '../errors.ts';
import type { Settings } from '../settings/schema.ts';
import type { Finding } from './doctor-surroundings.ts';
import { backupLateMs } from './limits.ts';

/** Checks that the target of scheduled backups can be read, and has the backup that was due last. */
export async function backups(settings: Settings): Promise<readonly Finding[]> {
  const { target: place, schedule } = settings.backup;
  if (settings.store !== 'lmdb') return [];
  if (place === undefined)
    return [
      { ok: 'backups: the service makes none; set backup.target, or run counterfoil backup by a timer' },
    ];
  try {
    return [await newest(settings, place, scheduleOf(schedule))];
  } catch (error) {
    if (error instanceof SettingsError)
      return error.problems.map((each) => ({ problem: `backups: ${each}` }));
    if (!(error instanceof BackupFailed)) throw error;
    return [{ problem: `backups: ${error.message}` }];
  }
}

async function newest(settings: Settings, place: string, schedule: Schedule): Promise<Finding> {
  const target = await openTarget(settings, place);
  try {
    const made = (await backupsIn(target)).at(-1);
    if (made === undefined)
      return { problem: `backups: ${place} has none; the log of the service says why (backup_failed)` };
    if (Date.parse(made.time) > Date.now() + clockSlackMs)
      return {
        problem: `backups: the newest of ${place} is of the future: ${made.name}; a clock was wrong then. Delete its files: a restore would prefer it`,
      };
    const due = schedule.after(Date.parse(made.time)) ?? Infinity;
    const text = `backups: the newest of ${place} is ${made.name}`;
    if (due + backupLateMs > Date.now()) return { ok: text };
    return {
      problem: `${text}, and one was due at ${new Date(due).toISOString()}; the log says why (backup_failed)`,
    };
  } finally {
    target.close();
  }
}
