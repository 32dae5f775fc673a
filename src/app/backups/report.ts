import type { BackupReport } from '../../http/routes/backups.ts';
import type { Settings } from '../../settings/schema.ts';
import type { BackupsFound } from './messages.ts';
import type { Schedule } from './schedule.ts';
import type { BackupStatus } from './status.ts';

type Described = NonNullable<BackupsFound['backups']>['newest'][number];

/** The report of a service that makes no backups. */
export function noBackups({ store }: Settings): BackupReport {
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
  readonly status: Pick<BackupStatus, 'runningSince' | 'lastFailure'>;
  readonly schedule: Schedule;
}

/** What operators see of the backups. @param now milliseconds since 1970 */
export function buildReport(
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
    next_at: textOf(schedule.after(now)),
    keep,
    running: status.runningSince === undefined ? null : { since: textOf(status.runningSince) ?? '' },
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

function textOf(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
