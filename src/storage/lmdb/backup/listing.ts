import type { BackupTarget } from '../../../backup/target.ts';
import { type Catalogue, isGood, readCatalogue, restorable } from './catalogue.ts';
import type { Manifest } from './manifest.ts';
import { byStore } from './manifest.ts';
import { readOwnerId } from './owner.ts';

/** The backups that can be restored, by store and in the order of their commits: the newest of the owner is the last. Throws BackupFailed. */
export async function backupsIn(target: BackupTarget): Promise<readonly Manifest[]> {
  return [...(await backupsByStore(target)).values()].flat();
}

/** The same by the id of their store. */
export async function backupsByStore(
  target: BackupTarget,
): Promise<ReadonlyMap<string, readonly Manifest[]>> {
  const [catalogue, ownerId] = await Promise.all([readCatalogue(target), readOwnerId(target)]);
  return byStore(restorable(catalogue), ownerId);
}

/** A backup as its manifest describes it. */
interface DescribedBackup {
  readonly name: string;
  /** Of the data file; undefined when it is missing. */
  readonly bytes: number | undefined;
  /** Undefined when the file is missing or has another size, or the manifest is damaged or not one of this version: then no restore takes it. */
  readonly manifest: Manifest | undefined;
}

export interface DescribedBackups {
  /** All that the target has. */
  readonly total: number;
  /**
   * Those that cannot be restored come first, as they may be the newest; then the backups of the owner, the newest first; then those of
   * other stores.
   */
  readonly newest: readonly DescribedBackup[];
}

/**
 * Describes the newest backups, also those that cannot be restored. Throws BackupFailed.
 *
 * @param countMax how many
 * @param known manifests that were read before (`readCatalogue`)
 */
export async function describeBackups(
  target: BackupTarget,
  countMax: number,
  known: Map<string, Manifest>,
): Promise<DescribedBackups> {
  const [catalogue, ownerId] = await Promise.all([readCatalogue(target, known), readOwnerId(target)]);
  const unusable = unusableIn(catalogue).toReversed();
  const good = [...byStore(restorable(catalogue), ownerId).values()].flat().toReversed();
  const described = good.map((manifest) => ({ name: manifest.name, bytes: manifest.bytes, manifest }));
  return { total: unusable.length + good.length, newest: [...unusable, ...described].slice(0, countMax) };
}

/** Data without a manifest is what a killed command has left. */
function unusableIn({ entries }: Catalogue): readonly DescribedBackup[] {
  return entries
    .filter((entry) => entry.hasManifestFile && !isGood(entry))
    .map(({ name, bytes }) => ({ name, bytes, manifest: undefined }));
}
