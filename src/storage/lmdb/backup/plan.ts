import { BackupFailed, type BackupTarget } from '../../../backup/target.ts';
import { SettingsError } from '../../../errors.ts';
import {
  type Catalogue,
  type CatalogueEntry,
  describeProblem,
  ownerFile,
  readCatalogue,
  readOwner,
  restorable,
} from './catalogue.ts';
import { byStore, compareBackups, comparePlaces, futureSlackMs, type Manifest } from './manifest.ts';
import {
  type Heartbeat,
  heartbeatFile,
  type NewestNote,
  newestFile,
  readHeartbeat,
  readNewest,
} from './notes.ts';
import { parseSegmentName, type SegmentName } from './segment.ts';

/** What to restore. */
export interface Wanted {
  /** The name of one backup, which is restored without the segments after it. */
  readonly name?: string | undefined;
  /** The state of this moment, in milliseconds since 1970; the newest by default. */
  readonly at?: number | undefined;
  /** The state after this commit; the last by default. */
  readonly position?: number | undefined;
  /** The id of the store, if several have backups at the target. */
  readonly store?: string | undefined;
}

export interface Plan {
  /** Backups to begin with, the best first. The next one is used if those before it turn out to be damaged. */
  readonly bases: readonly Manifest[];
  /** All segments of the target, sorted by their first commit. */
  readonly segments: readonly SegmentName[];
  /** The chains of all backups of the target. */
  readonly chains: ReadonlySet<string>;
  /** The good backups of the store, the oldest first. */
  readonly backups: readonly Manifest[];
  /** One sentence for each file that is damaged or missing, and may be newer than the first base. */
  readonly problems: readonly string[];
  /** One sentence for each file that is damaged or missing, and is certainly older than the newest backup. */
  readonly notes: readonly string[];
  readonly newest: NewestNote | undefined;
  readonly heartbeat: Heartbeat | undefined;
}

/** Finds the backup to begin with, and the segments and notes after it. Throws BackupFailed, and SettingsError if there is no backup. */
export async function planRestore(target: BackupTarget, wanted: Wanted, now: number): Promise<Plan> {
  const [catalogue, owner] = await Promise.all([readCatalogue(target), readOwner(target)]);
  if (wanted.name !== undefined) return planSingleBackup(target, catalogue.entries, wanted.name);
  const ownerId = owner === 'damaged' ? undefined : owner?.store_id;
  const [id, backups] = storeToRestore(target, catalogue, ownerId, wanted.store);
  const [newest, heartbeat] = await Promise.all([readNewest(target, id), readHeartbeat(target, id)]);
  const damagedNotes = [
    ...(owner === 'damaged' ? [`${ownerFile} is damaged`] : []),
    ...(newest === 'damaged'
      ? [`${newestFile(id)} is damaged, so that it is unknown which backup is the newest`]
      : []),
    ...(heartbeat === 'damaged'
      ? [`${heartbeatFile(id)} is damaged, so that it is unknown what was sent last`]
      : []),
  ];
  const note = newest === 'damaged' ? undefined : newest;
  const { problems, notes } = sortProblems(catalogue.entries, { id, backups, note });
  return {
    bases: usableBases(target, backups, wanted, now),
    segments: segmentsIn(catalogue),
    chains: new Set(catalogue.entries.flatMap(({ manifest }) => manifest?.chain ?? [])),
    backups,
    problems: [...damagedNotes, ...problems],
    notes,
    newest: note,
    heartbeat: heartbeat === 'damaged' ? undefined : heartbeat,
  };
}

function planSingleBackup(target: BackupTarget, entries: readonly CatalogueEntry[], name: string): Plan {
  const entry = entries.find((each) => each.name === name);
  if (entry === undefined) throw new SettingsError([`${target.name}: there is no backup ${name}`]);
  const problem = describeProblem(entry);
  if (problem !== undefined || entry.manifest === undefined)
    throw new BackupFailed('backup_damaged', `${target.name}: ${problem}; restore another backup`);
  const bases = [entry.manifest];
  const nothing = { newest: undefined, heartbeat: undefined };
  return { bases, segments: [], chains: new Set(), backups: bases, problems: [], notes: [], ...nothing };
}

/** If there are several stores, the operator has to name one: any of them may be meant. */
function storeToRestore(
  target: BackupTarget,
  catalogue: Catalogue,
  ownerId: string | undefined,
  wanted: string | undefined,
): readonly [id: string, backups: readonly Manifest[]] {
  const stores = [...byStore(restorable(catalogue), ownerId)];
  const found = wanted === undefined ? stores : stores.filter(([id]) => id === wanted);
  const [only] = found;
  if (only === undefined) throw noBackup(target, catalogue, wanted);
  if (found.length === 1) return only;
  const list = stores.map(([id, backups]) => describeStore(id, backups, ownerId)).join('; ');
  throw new BackupFailed(
    'several_stores',
    `${target.name}: has backups of ${stores.length} stores: ${list}. Name one with --store ID`,
  );
}

function describeStore(id: string, backups: readonly Manifest[], ownerId: string | undefined): string {
  const newest = backups.at(-1);
  const last = newest && `the newest has commit ${newest.position} of ${isoTime(lastChangeAt(newest))}`;
  return `${id} (${backups.length} backups, ${last}${id === ownerId ? '; the target belongs to it' : ''})`;
}

function noBackup({ name }: BackupTarget, { entries }: Catalogue, store: string | undefined): Error {
  const problems = entries.flatMap((entry) => describeProblem(entry) ?? []);
  if (problems.length > 0)
    return new BackupFailed('backup_damaged', `${name}: there is no good backup: ${problems.join('; ')}`);
  const which = store === undefined ? 'backup' : `backup of store ${store}`;
  return new SettingsError([`${name}: there is no ${which}`]);
}

interface StoreBackups {
  readonly id: string;
  readonly backups: readonly Manifest[];
  readonly note: NewestNote | undefined;
}

/** Separates problems of backups that are older than the newest good backup from all others. */
function sortProblems(
  entries: readonly CatalogueEntry[],
  { id, backups, note }: StoreBackups,
): { readonly problems: readonly string[]; readonly notes: readonly string[] } {
  const newest = backups.at(-1);
  const problems: string[] = [];
  const notes: string[] = [];
  for (const entry of entries) {
    const problem = describeProblem(entry);
    if (problem === undefined) continue;
    const { manifest } = entry;
    if (manifest !== undefined && manifest.store_id !== id) continue;
    // An unreadable manifest may be that of the newest backup, unless the store's note says that there is no newer one.
    const isOlder =
      newest !== undefined &&
      (manifest === undefined
        ? note !== undefined && note.name !== entry.name && comparePlaces(newest, note) >= 0
        : compareBackups(manifest, newest) < 0);
    (isOlder ? notes : problems).push(problem);
  }
  return { problems, notes };
}

/** Throws SettingsError if all backups are later, and BackupFailed if their times contradict their order. */
function usableBases(
  target: BackupTarget,
  backups: readonly Manifest[],
  { at = Infinity, position = Infinity }: Wanted,
  now: number,
): readonly Manifest[] {
  // A time in the future came from a wrong clock.
  const known = backups.filter((each) => at === Infinity || lastChangeAt(each) <= now + futureSlackMs);
  const bases = known.filter((each) => lastChangeAt(each) <= at && each.position <= position);
  const [oldest] = backups;
  const newest = bases.at(-1);
  if (newest === undefined)
    throw new SettingsError([
      at < Infinity
        ? `--at: the oldest backup of ${target.name} is of ${oldest && isoTime(lastChangeAt(oldest))}`
        : `--position: the oldest backup of ${target.name} has commit ${oldest?.position}`,
    ]);
  const contradicting = known.find((each) => lastChangeAt(each) > at && compareBackups(each, newest) < 0);
  if (contradicting !== undefined)
    throw new BackupFailed(
      'times_ambiguous',
      `--at: the clock was wrong: commit ${contradicting.position} has a later time than --at, and commit ${newest.position}, ` +
        'which follows it, an earlier one; name the last commit with --position',
    );
  return bases.toReversed();
}

/** The time of the last change in a backup, in milliseconds since 1970. */
function lastChangeAt({ last_commit_at, time }: Manifest): number {
  return Date.parse(last_commit_at ?? time);
}

function isoTime(time: number): string {
  return new Date(time).toISOString();
}

function segmentsIn({ files }: Catalogue): readonly SegmentName[] {
  return files
    .flatMap((file) => parseSegmentName(file.name) ?? [])
    .sort((one, other) => one.first - other.first || one.last - other.last);
}
