import { BackupFailed } from '../../../backup/target.ts';
import { comparePlaces, futureSlackMs, type Manifest } from './manifest.ts';
import type { Heartbeat } from './notes.ts';
import type { Plan } from './plan.ts';
import { missingSegments, type Reached, type WalkEnd } from './walk.ts';

/** The end of a restore: no further segment follows. */
interface Ended {
  readonly base: Manifest;
  readonly reached: Reached;
  readonly end: WalkEnd;
}

/**
 * Finds what the target shows to be missing after the last commit of a restore: commits that once existed, or the proof that nothing
 * happened until the wanted moment.
 */
export function lossesAtEnd(plan: Plan, ended: Ended): readonly BackupFailed[] {
  const losses = [missingBackup(plan, ended), missingCommits(plan, ended), orphanedSegments(plan, ended)];
  const found = losses.filter((loss) => loss !== undefined);
  return found.length > 0 ? found : [endsEarlier(plan, ended)].filter((loss) => loss !== undefined);
}

/** A newer backup was noted or is at the target, and no segments lead to it. */
function missingBackup(
  { newest, backups, bases }: Plan,
  { base, reached, end }: Ended,
): BackupFailed | undefined {
  const next = backups.find((each) => !bases.includes(each) && isBeyond(each, base, reached));
  // A wanted moment or commit is a state between two backups.
  if (next !== undefined && (end.at < Infinity || end.position < Infinity))
    return missingBetween(reached, base, next);
  if (newest === undefined || !isBeyond(newest, base, reached)) return undefined;
  if (backups.some((each) => comparePlaces(each, newest) >= 0)) return undefined;
  return new BackupFailed(
    'backup_missing',
    `${newest.name}, the newest backup of the store (up to commit ${newest.position}), is missing, and the rest ends at commit ${reached.position}`,
  );
}

function missingBetween({ position }: Reached, base: Manifest, next: Manifest): BackupFailed {
  if (next.timeline === base.timeline) return missingSegments(position, next.position);
  return new BackupFailed(
    'segments_missing',
    `the machine was set back after commit ${position}, and nothing shows when; ${next.name} is of the time after that`,
  );
}

function isBeyond(
  place: Pick<Manifest, 'timeline' | 'position'>,
  base: Manifest,
  { position }: Reached,
): boolean {
  return comparePlaces(place, { ...base, position }) > 0;
}

/** The store has sent more commits than the target has. */
function missingCommits({ heartbeat, backups }: Plan, { base, reached }: Ended): BackupFailed | undefined {
  if (heartbeat === undefined || heartbeat.position <= reached.position) return undefined;
  const { chain, position, at } = heartbeat;
  // The store was set back, and has sent nothing since.
  if (chain !== base.chain && backups.some((each) => each.chain === chain && comparePlaces(each, base) < 0))
    return undefined;
  return new BackupFailed(
    'segments_missing',
    `commits ${reached.position + 1} to ${position}, which the store had sent by ${at}, are in no segment`,
  );
}

/**
 * Segments that continue no backup belong to a new chain, whose first backup is missing. In the chain of the heartbeat, they are the
 * present of the store. In another chain, they may remain from an earlier history, unless their commits go further.
 */
function orphanedSegments(
  { segments, chains, heartbeat }: Plan,
  { reached }: Ended,
): BackupFailed | undefined {
  const orphans = segments.filter(
    ({ chain, last }) => !chains.has(chain) && (chain === heartbeat?.chain || last > reached.position),
  );
  const [first] = orphans;
  if (first === undefined) return undefined;
  const last = Math.max(...orphans.map((each) => each.last));
  return new BackupFailed(
    'segments_missing',
    `commits ${first.first} to ${last} are in segments that continue no backup: the first backup of their chain is missing`,
  );
}

/** A wanted moment after the last commit needs a proof that nothing happened until then. */
function endsEarlier({ heartbeat, backups }: Plan, { base, reached, end }: Ended): BackupFailed | undefined {
  if (end.position < Infinity)
    return new BackupFailed(
      'ends_earlier',
      `ends at commit ${reached.position}, before commit ${end.position}`,
    );
  if (end.at === Infinity) return undefined;
  const place = { ...base, position: reached.position };
  const times = [
    Date.parse(reached.at),
    ...backups.filter((each) => comparePlaces(each, place) === 0).map(madeAt),
    ...(heartbeat?.position === reached.position ? [sentAt(heartbeat)] : []),
  ];
  // A time in the future came from a wrong clock.
  const shown = Math.max(...times.filter((time) => time <= end.now + futureSlackMs));
  if (shown >= end.at) return undefined;
  if (shown === -Infinity)
    return new BackupFailed(
      'ends_earlier',
      `ends at commit ${reached.position}, whose time is that of a wrong clock`,
    );
  return new BackupFailed(
    'ends_earlier',
    `shows the state until ${new Date(shown).toISOString()} (commit ${reached.position}), and nothing of what happened from then to --at`,
  );
}

function madeAt({ time }: Manifest): number {
  return Date.parse(time);
}

function sentAt({ at }: Heartbeat): number {
  return Date.parse(at);
}
