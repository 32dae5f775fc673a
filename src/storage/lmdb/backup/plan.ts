import { BackupFailed, type BackupTarget } from '../../../backup/target.ts';
import { SettingsError } from '../../../errors.ts';
import { backupsIn } from './listing.ts';
import type { Manifest } from './manifest.ts';
import { type SegmentName, segmentOf } from './segment-name.ts';

/** What to restore. */
export interface Wanted {
  /** One backup, without the segments after it. */
  readonly name?: string | undefined;
  /** The state of this moment, in milliseconds since 1970; the newest by default. */
  readonly at?: number | undefined;
}

/** How far a restore has come. */
export interface Reached {
  /** The last commit. */
  readonly position: number;
  /** When it was made (RFC 3339). */
  readonly at: string;
}

export interface Plan {
  readonly manifest: Manifest;
  /** The segments of its chain that go on after it, by their first commit. They may have gaps. */
  readonly segments: readonly SegmentName[];
  /** The next backup of the same store: what is between has to be in segments. */
  readonly next: Manifest | undefined;
}

/** The backup to begin with, and the segments after it. Throws SettingsError if there is none, BackupFailed. */
export async function planRestore(target: BackupTarget, { name, at }: Wanted): Promise<Plan> {
  const [backups, files] = await Promise.all([backupsIn(target), target.list()]);
  const fitting = backups.filter((each) =>
    name === undefined ? stateAt(each) <= (at ?? Infinity) : each.name === name,
  );
  const manifest = fitting.at(-1);
  if (manifest === undefined) throw new SettingsError([noBackup(target, { name, at }, backups)]);
  if (name !== undefined) return { manifest, segments: [], next: undefined };
  const segments = files
    .flatMap((file) => segmentOf(file.name) ?? [])
    .filter(({ chain, last }) => chain === manifest.chain && last > manifest.position)
    .sort((one, other) => one.first - other.first || one.last - other.last);
  const later = backups.slice(backups.indexOf(manifest) + 1);
  const next = later.find(({ store_id }) => store_id !== undefined && store_id === manifest.store_id);
  return { manifest, segments, next };
}

/** Milliseconds since 1970 of the last change in a backup. */
function stateAt({ last_commit_at, time }: Manifest): number {
  return Date.parse(last_commit_at ?? time);
}

function noBackup({ name }: BackupTarget, wanted: Wanted, [oldest]: readonly Manifest[]): string {
  if (wanted.name !== undefined) return `${name}: there is no backup ${wanted.name}`;
  if (oldest === undefined) return `${name}: there is no backup`;
  return `--at: the oldest backup of ${name} is of ${new Date(stateAt(oldest)).toISOString()}`;
}

/**
 * The segment that continues a position: of several the one that goes furthest, as two processes may have written the same commits.
 * Undefined at the end. Throws BackupFailed where commits are missing.
 */
export function segmentAfter(segments: readonly SegmentName[], reached: Reached): SegmentName | undefined {
  const { position } = reached;
  const later = segments.filter(({ last }) => last > position);
  const fitting = later.filter(({ first }) => first <= position + 1);
  const best = fitting.sort((one, other) => one.last - other.last).at(-1);
  if (best === undefined && later[0] !== undefined) throw gap(reached, later[0].first - 1);
  return best;
}

/** Commits that no segment has. */
export function gap({ position, at }: Reached, last: number): BackupFailed {
  return new BackupFailed(
    'segments_missing',
    `commits ${position + 1} to ${last} are in no segment; restore --at ${at} for the state before them`,
  );
}

/** @param what is wrong with it */
export function damagedSegment(
  { name, first, last }: SegmentName,
  what: string,
  { at }: Reached,
): BackupFailed {
  return new BackupFailed(
    'segment_damaged',
    `${name} (commits ${first} to ${last}) ${what}; restore --at ${at} for the state before it`,
  );
}
