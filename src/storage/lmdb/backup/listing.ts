import { inTurns } from '../../../backup/in-turns.ts';
import { requestsAtOnceMax } from '../../../backup/limits.ts';
import type { BackupTarget } from '../../../backup/target.ts';
import { dataFile, type Manifest, manifestFile, nameOf, readManifest } from './manifest.ts';
import { segmentOf } from './segment-name.ts';

/** What a target holds. Files that are not named as ours are left alone. */

/** The backups, the oldest first. Throws BackupFailed. */
export async function backupsIn(target: BackupTarget): Promise<readonly Manifest[]> {
  const files = await target.list();
  const bytes = new Map(files.map((file) => [file.name, file.bytes]));
  const names = new Set(files.flatMap(({ name }) => nameOf(name) ?? []));
  const listed = [...names].filter((name) => bytes.has(manifestFile(name)) && bytes.has(dataFile(name)));
  const manifests = await inTurns(listed.sort(), requestsAtOnceMax, (name) => readManifest(target, name));
  return manifests.filter(
    (found) => found !== undefined && bytes.get(found.file) === found.bytes,
  ) as Manifest[];
}

/** A backup as its manifest describes it. */
export interface DescribedBackup {
  readonly name: string;
  /** Of the data file; undefined when it is missing. */
  readonly bytes: number | undefined;
  /** Undefined when the file is missing or has another size, or the manifest is not one of this version: then no restore takes it. */
  readonly manifest: Manifest | undefined;
}

export interface DescribedBackups {
  /** All that the target has. */
  readonly total: number;
  /** The newest first. */
  readonly newest: readonly DescribedBackup[];
}

/**
 * Describes the newest backups, also those that cannot be restored. Reads one small file for each. Throws BackupFailed.
 *
 * @param countMax how many
 * @param known manifests that were read before, by name: they never change, and each costs a request to a distant target
 */
export async function describeBackups(
  target: BackupTarget,
  countMax: number,
  known: Map<string, Manifest>,
): Promise<DescribedBackups> {
  const files = await target.list();
  const bytes = new Map(files.map((file) => [file.name, file.bytes]));
  const named = new Set(files.flatMap(({ name }) => nameOf(name) ?? []));
  const names = [...named].filter((name) => bytes.has(manifestFile(name))).sort();
  const newest = await inTurns(names.toReversed().slice(0, countMax), requestsAtOnceMax, async (name) => {
    const manifest = known.get(name) ?? (await readManifest(target, name));
    if (manifest !== undefined) known.set(name, manifest);
    const size = bytes.get(dataFile(name));
    return { name, bytes: size, manifest: manifest?.bytes === size ? manifest : undefined };
  });
  const kept = new Set(names);
  for (const name of known.keys()) if (!kept.has(name)) known.delete(name);
  return { total: names.length, newest };
}

/**
 * Removes what killed commands have left. A file with a manifest stays, also if this version cannot read the manifest: it may be
 * the backup of a later one.
 */
export async function tidy(target: BackupTarget): Promise<void> {
  const files = await target.list();
  const all = new Set(files.map(({ name }) => name));
  const left = files.filter((file) => {
    const name = nameOf(file.name);
    return name !== undefined && !all.has(manifestFile(name)) && target.isAbandoned(file);
  });
  await target.remove(left.map(({ name }) => name));
}

/**
 * Deletes the oldest backups beyond this number, and then the segments that no backup needs any more.
 *
 * @param made the newest backup, which a late target may not list yet
 * @returns the names of the deleted backups
 */
export async function keepNewest(
  target: BackupTarget,
  keep: number,
  made: Manifest,
): Promise<readonly string[]> {
  const others = (await backupsIn(target)).filter(({ name }) => name !== made.name);
  const old = others.slice(0, Math.max(0, others.length - (keep - 1)));
  for (const { name } of old) {
    // Without its manifest it is no backup any more, whatever happens next.
    await target.remove([manifestFile(name)]);
    await target.remove([dataFile(name)]);
  }
  await removeSegments(target, [...others.slice(old.length), made]);
  return old.map(({ name }) => name);
}

/** Keeps the segments that follow a backup that is kept. */
async function removeSegments(target: BackupTarget, kept: readonly Manifest[]): Promise<void> {
  const needed = new Map<string, number>();
  for (const { chain, position } of kept)
    if (chain !== undefined) needed.set(chain, Math.min(position, needed.get(chain) ?? position));
  const useless = (await target.list()).filter(({ name }) => {
    const segment = segmentOf(name);
    return segment !== undefined && segment.last <= (needed.get(segment.chain) ?? Infinity);
  });
  await target.remove(useless.map(({ name }) => name));
}
