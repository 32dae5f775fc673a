import { audited, type Requester } from '../../audit/audit.ts';
import { ServiceError } from '../../errors.ts';
import type { BackupReport } from '../../http/routes/backups.ts';
import type { Repeated } from '../../lifecycle.ts';
import type { Settings } from '../../settings/schema.ts';
import type { Engine } from '../../storage/engine.ts';
import { existingStore } from '../adapters.ts';
import { openTarget, stopArchiving } from './adapters.ts';
import { AgentThread, BackupMonitor, type MonitorOptions } from './agent-thread.ts';
import type { BackupsFound } from './messages.ts';
import { openSchedule, type Schedule } from './schedule.ts';

/** The backups of a service. */
export interface Backups extends Repeated {
  report(): Promise<BackupReport>;
  /** Begins a backup. Throws `backups_not_configured`, `backup_running`, `unavailable`. @returns when it began */
  make(requester: Requester): Promise<number>;
}

/** Starts the backups of the settings. Throws SettingsError. */
export async function startBackups(
  settings: Settings,
  { engine, ...options }: MonitorOptions & { readonly engine: Engine },
): Promise<Backups> {
  const { target, schedule: cron, continuous } = settings.backup;
  if (settings.store !== 'lmdb') return unconfigured(settings);
  const file = existingStore(settings);
  if (continuous === undefined) await stopArchiving(file);
  if (target === undefined) return unconfigured(settings);
  const schedule = openSchedule(cron);
  // The thread opens the target again. Here a missing library or a wrong name ends the start.
  (await openTarget(settings, target)).close();
  const { log, now } = options;
  const status = new BackupMonitor(options);
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

type Described = NonNullable<BackupsFound['backups']>['newest'][number];

/** The report of a service that makes no backups. */
function noBackups({ store }: Settings): BackupReport {
  return {
    store,
    target: null,
    schedule: null,
    next_at: null,
    keep: null,
    running: null,
    newest: null,
    continuous: null,
    last_failure: null,
    problem: null,
    total: null,
    backups: [],
  };
}

interface BackupFacts {
  readonly found: BackupsFound;
  readonly status: Pick<BackupMonitor, 'runningSince' | 'lastFailure'>;
  readonly schedule: Schedule;
}

/** Builds the report for operators. @param now milliseconds since 1970 */
function buildReport(
  settings: Settings,
  { found, status, schedule }: BackupFacts,
  now: number,
): BackupReport {
  const { target = null, schedule: cron, keep } = settings.backup;
  const { backups, storeId, problem = null } = found;
  // The target may have backups of a store that this one was restored from.
  const isOwn = ({ manifest }: Described) => (manifest?.store_id ?? storeId) === storeId;
  const good = backups?.newest.find((each) => each.manifest !== undefined && isOwn(each))?.manifest;
  const failure = found.lastFailure ?? status.lastFailure;
  return {
    ...noBackups(settings),
    target,
    schedule: cron,
    next_at: isoTimeOrNull(schedule.after(now)),
    keep,
    running:
      status.runningSince === undefined ? null : { since: new Date(status.runningSince).toISOString() },
    newest:
      good === undefined
        ? null
        : { name: good.name, time: good.time, age_seconds: describeAge(Date.parse(good.time), now) },
    continuous: describeContinuous(settings, found, now),
    last_failure: failure === undefined ? null : { ...failure, at: new Date(failure.at).toISOString() },
    problem,
    total: backups?.total ?? null,
    backups: backups?.newest.map(publicBackup) ?? [],
  };
}

function describeContinuous(
  { backup: { continuous: seconds } }: Settings,
  { progress }: BackupsFound,
  now: number,
): BackupReport['continuous'] {
  if (seconds === undefined) return null;
  const { position, storePosition, pendingSince } = progress ?? {};
  const isBehind = position !== undefined && storePosition !== undefined && position < storePosition;
  return {
    seconds,
    position: position ?? null,
    store_position: storePosition ?? null,
    lag_seconds: position === undefined ? null : isBehind ? describeAge(pendingSince ?? now, now) : 0,
  };
}

function publicBackup({ name, bytes, manifest }: Described): BackupReport['backups'][number] {
  const { tables: _tables, ...items } = manifest?.counts ?? {};
  const isGood = manifest !== undefined;
  return {
    name,
    state: isGood ? 'good' : 'unusable',
    time: manifest?.time ?? null,
    position: manifest?.position ?? null,
    last_commit_at: manifest?.last_commit_at ?? null,
    store_id: manifest?.store_id ?? null,
    items: isGood ? Object.values(items).reduce((sum, count) => sum + count, 0) : null,
    bytes: bytes ?? null,
  };
}

function describeAge(at: number, now: number): number {
  return Math.max(0, Math.round((now - at) / 1_000));
}

function isoTimeOrNull(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
