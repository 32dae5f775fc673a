import { Cron } from 'croner';
import { SettingsError } from '../../errors.ts';
import { clockSlackMs } from '../limits.ts';

/** When backups are due. */
export interface Schedule {
  /**
   * Whether a backup is due: a time of the schedule has passed since the last one. So a backup that a stopped service has missed is
   * made at the next start. @param last milliseconds since 1970; undefined if there is none yet
   */
  isDue(last: number | undefined, now: number): boolean;
  /** The next time after a moment, in milliseconds since 1970; undefined if there is none. */
  after(moment: number): number | undefined;
}

/** Reads a schedule in the syntax of cron, in the time zone of the process. Throws SettingsError. */
export function openSchedule(text: string): Schedule {
  let cron: Cron;
  try {
    cron = new Cron(text);
  } catch (error) {
    throw new SettingsError([
      `backup.schedule (COUNTERFOIL_BACKUP_SCHEDULE): is no schedule of cron (${(error as Error).message})`,
    ]);
  }
  const after = (moment: number) => cron.nextRun(new Date(moment))?.getTime();
  // A backup from the future was made while the clock was wrong.
  const isDue = (last: number | undefined, now: number) =>
    last === undefined || last > now + clockSlackMs || (after(last) ?? Infinity) <= now;
  return { after, isDue };
}
