import { readRecord, readSmall } from '../../../backup/small-files.ts';
import type { BackupTarget } from '../../../backup/target.ts';

/** Describes a backup, in `NAME.json` beside `NAME.mdb`. Without a manifest there is no backup. */
export interface Manifest {
  /** The version of these fields. */
  readonly manifest: typeof manifestVersion;
  readonly name: string;
  /** The moment before the snapshot was taken (RFC 3339): everything that was durable then is in the backup. */
  readonly time: string;
  /** The number of the last commit in the snapshot. */
  readonly position: number;
  /** When that commit was made (RFC 3339); missing if the store does not know. */
  readonly last_commit_at?: string;
  /** The id of the store. A restored or copied store has another one. */
  readonly store_id: string;
  /**
   * The history of the store that the backup is from, counted from 0. The number increases when a backup finds commits at the target
   * that the store lacks, because the whole machine was set back.
   */
  readonly timeline: number;
  /** The chain of segments that continues it; missing if the store has no continuous backup. */
  readonly chain?: string;
  /** The running checksum of that chain at `position`, with which the next segment begins; missing without a chain. */
  readonly chain_checksum?: string;
  /** Items by kind: `tables`, `table_items`, and each space of the service that has any. */
  readonly counts: Readonly<Record<string, number>>;
  /** The processor accounts and modes of all charges of the store: after a restore, the records of each must be read. */
  readonly accounts: readonly ManifestAccount[];
  readonly file: string;
  readonly bytes: number;
  /** The SHA-256 of the file, in hexadecimal. */
  readonly sha256: string;
  /** The version of the service that made the backup. */
  readonly service_version: string;
  readonly store_format: number;
}

export interface ManifestAccount {
  readonly processor: string;
  /** Missing if the key of the processor may not read it. */
  readonly account?: string;
  readonly mode?: 'live' | 'test';
}

export const manifestVersion = 1;
/** A manifest or another record of a target has a few hundred bytes; a longer file is not ours. */
export const recordBytesMax = 64 * 1024;
/** A time that is further in the future than this is wrong: the clocks of two machines differ by less. */
export const futureSlackMs = 60_000;
const namePattern = /^counterfoil-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$/;

/** Names contain the time of the backup, by a clock that may have been wrong: they order nothing. @param now milliseconds since 1970 */
export function nameAt(now: number): string {
  return `counterfoil-${new Date(now).toISOString().replaceAll(/[:.]/g, '-')}`;
}

export function dataFile(name: string): string {
  return `${name}.mdb`;
}

export function manifestFile(name: string): string {
  return `${name}.json`;
}

/** The backup to which a file of the target folder belongs; undefined if it is not ours. */
export function backupName(file: string): string | undefined {
  const name = file.replace(/\.(mdb|json)$/, '');
  return name !== file && namePattern.test(name) ? name : undefined;
}

/** Reads a manifest; undefined if there is none, or it was altered or is of another version. The data file may be missing. */
export async function readManifest(target: BackupTarget, name: string): Promise<Manifest | undefined> {
  if (!namePattern.test(name)) return undefined;
  const text = await readSmall(target, manifestFile(name), recordBytesMax);
  const manifest = (text && readRecord(text)) as Manifest | undefined;
  if (manifest?.manifest !== manifestVersion || manifest.name !== name) return undefined;
  if (manifest.file !== dataFile(name) || Number.isNaN(Date.parse(manifest.time))) return undefined;
  return manifest;
}

/** Whether a text is the name of a backup. */
export function isBackupName(text: string): boolean {
  return namePattern.test(text);
}

/**
 * Backups are ordered by their commits. Times and names come from clocks, which may be wrong: they decide only between backups of the
 * same commit, which have the same content.
 */

/** The place of a backup in the order of its store's backups. */
export type BackupPlace = Pick<Manifest, 'timeline' | 'position'>;

/** Negative if the first is the older one. */
export function comparePlaces(one: BackupPlace, other: BackupPlace): number {
  return one.timeline - other.timeline || one.position - other.position;
}

/** As `comparePlaces`; of two backups of one commit, the one made later is the newer one. */
export function compareBackups(one: Manifest, other: Manifest): number {
  return (
    comparePlaces(one, other) ||
    Date.parse(one.time) - Date.parse(other.time) ||
    (one.name < other.name ? -1 : 1)
  );
}

/**
 * Groups backups by the id of their store. Each group begins with its oldest backup, and the owner's group is the last.
 *
 * @param ownerId the id of the store to which the target belongs; undefined if the target does not name it
 */
export function byStore(
  manifests: readonly Manifest[],
  ownerId: string | undefined,
): ReadonlyMap<string, readonly Manifest[]> {
  const groups = Map.groupBy(manifests, ({ store_id }) => store_id);
  const sorted = Array.from(groups, ([id, group]) => [id, group.toSorted(compareBackups)] as const);
  return new Map(sorted.sort(([one], [other]) => Number(one === ownerId) - Number(other === ownerId)));
}

/**
 * The timeline of a store's next backup: a new one if the target has a commit that the store lacks.
 *
 * @param made the backups of the store at the target, the oldest first
 * @param next position and time of its last commit
 */
export function nextTimeline(
  made: readonly Manifest[],
  next: Pick<Manifest, 'position' | 'last_commit_at'>,
): number {
  const newest = made.at(-1);
  if (newest === undefined) return 0;
  const isSame = newest.position === next.position && newest.last_commit_at === next.last_commit_at;
  const isLater = newest.position < next.position;
  return newest.timeline + (isSame || isLater ? 0 : 1);
}
