import { BackupFailed } from '../../backup/target.ts';
import { SettingsError } from '../../errors.ts';
import type { Settings } from '../../settings/schema.ts';
import { existingStore } from '../adapters.ts';
import { backupsByStore, openTarget, settleStoreId, whyRejected } from '../backups/adapters.ts';
import { openSchedule, type Schedule } from '../backups/schedule.ts';
import { backupLateMs, clockSlackMs } from '../limits.ts';
import { type Finding, ok, problem } from './finding.ts';

const check = 'backups';

/** The finding for a service that makes no backups. */
export const noBackupsMade = ok(
  check,
  'the service makes none',
  'set backup.target, or run counterfoil backup by a timer',
);

/**
 * Checks that the target of scheduled backups can be read, belongs to this store, and has the backup that was due last. No finding for
 * a distributed store.
 */
export async function backupsCheck(settings: Settings, now: number): Promise<readonly Finding[]> {
  const { target: place, schedule } = settings.backup;
  if (settings.store !== 'lmdb') return [];
  if (place === undefined) return [noBackupsMade];
  try {
    const target = await openTarget(settings, place);
    try {
      const storeId = await settleStoreId(existingStore(settings));
      const rejection = await whyRejected(target, storeId);
      if (rejection !== undefined) return [problem(check, rejection)];
      const newest = (await backupsByStore(target)).get(storeId)?.at(-1);
      return [newestBackupCheck({ place, newest, schedule: openSchedule(schedule), now })];
    } finally {
      target.close();
    }
  } catch (error) {
    if (error instanceof SettingsError) return error.problems.map((each) => problem(check, each));
    if (!(error instanceof BackupFailed)) throw error;
    return [problem(check, error.message)];
  }
}

export interface NewestBackup {
  readonly place: string;
  readonly newest: { readonly name: string; readonly time: string } | undefined;
  readonly schedule: Schedule;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Whether the newest good backup of a target is the one that was due last. */
export function newestBackupCheck({ place, newest, schedule, now }: NewestBackup): Finding {
  if (newest === undefined)
    return problem(check, `${place} has none`, 'the log of the service says why (backup_failed)');
  const madeAt = Date.parse(newest.time);
  if (madeAt > now + clockSlackMs)
    return problem(
      check,
      `the newest of ${place} is of the future: ${newest.name}; the clock was wrong then`,
      'compare the clock of this machine, and make a backup; restore goes by commits, and only --at goes by their times',
    );
  const due = schedule.after(madeAt) ?? Infinity;
  const text = `the newest of ${place} is ${newest.name}`;
  if (due + backupLateMs > now) return ok(check, text);
  const missing = `${text}, and one was due at ${new Date(due).toISOString()}`;
  return problem(check, missing, 'the log says why (backup_failed)');
}
