import { audited, type Requester } from '../../audit/audit.ts';
import { ServiceError } from '../../errors.ts';
import type { BackupReport } from '../../http/routes/backups.ts';
import type { Repeated } from '../../lifecycle.ts';
import type { Settings } from '../../settings/schema.ts';
import type { Engine } from '../../storage/engine.ts';
import { existingStore } from '../adapters.ts';
import { openTarget, stopArchiving } from './adapters.ts';
import { AgentThread } from './agent-thread.ts';
import { buildReport, noBackups } from './report.ts';
import { openSchedule } from './schedule.ts';
import { type BackupOptions, BackupStatus } from './status.ts';

/** The backups of a service. */
export interface Backups extends Repeated {
  report(): Promise<BackupReport>;
  /** Begins a backup. Throws `backups_not_configured`, `backup_running`, `unavailable`. @returns since when it is being made */
  make(requester: Requester): Promise<number>;
}

/** Starts what makes the backups of the settings. Throws SettingsError. */
export async function startBackups(
  settings: Settings,
  { engine, ...options }: BackupOptions & { readonly engine: Engine },
): Promise<Backups> {
  const { target, schedule: cron, continuous } = settings.backup;
  if (settings.store !== 'lmdb') return unconfigured(settings);
  const file = existingStore(settings);
  if (continuous === undefined) await stopArchiving(file);
  if (target === undefined) return unconfigured(settings);
  const schedule = openSchedule(cron);
  // The thread loads it again; here a missing library or a wrong name ends the start.
  (await openTarget(settings, target)).close();
  const { log, now } = options;
  const status = new BackupStatus(options);
  const thread = new AgentThread({ file, backup: { ...settings.backup, target } }, status, log);
  return {
    stop: () => thread.stop(),
    report: async () => {
      const found = await thread.look();
      return buildReport(settings, { found, status, schedule }, now());
    },
    make: (requester) => {
      const act = { what: 'backup.requested', on: target, ...requester } as const;
      const note = async () => void (await engine.commit([audited(act, now())]));
      return thread.make(note, now());
    },
  };
}

function unconfigured(settings: Settings): Backups {
  return {
    stop: async () => undefined,
    report: async () => noBackups(settings),
    make: async () => {
      throw new ServiceError('backups_not_configured');
    },
  };
}
