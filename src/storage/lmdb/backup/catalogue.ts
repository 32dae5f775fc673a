import { mapWithConcurrency, readRecord, readSmall, requestsAtOnceMax } from '../../../backup/small-files.ts';
import type { BackupTarget, TargetFile } from '../../../backup/target.ts';
import {
  backupName,
  byStore,
  dataFile,
  type Manifest,
  manifestFile,
  readManifest,
  recordBytesMax,
} from './manifest.ts';

/** What a target holds: the name of its owner, and backups. Files without a name of ours are left alone. */
export interface Catalogue {
  readonly files: readonly TargetFile[];
  /** Sorted by name. */
  readonly entries: readonly CatalogueEntry[];
}

/** A backup of which the target has at least one file. */
export interface CatalogueEntry {
  readonly name: string;
  /** The size of the data file; undefined if it is missing. */
  readonly bytes: number | undefined;
  /** Undefined if it is missing or was altered, or is of another version. */
  readonly manifest: Manifest | undefined;
  readonly hasManifestFile: boolean;
}

/**
 * Reads one small file for each backup. Throws BackupFailed.
 *
 * @param known manifests that were read before, by name: they never change, and each costs a request to a distant target
 */
export async function readCatalogue(
  target: BackupTarget,
  known: Map<string, Manifest> = new Map(),
): Promise<Catalogue> {
  const files = await target.list();
  const bytes = new Map(files.map((file) => [file.name, file.bytes]));
  const names = [...new Set(files.flatMap(({ name }) => backupName(name) ?? []))].sort();
  const entries = await mapWithConcurrency(names, requestsAtOnceMax, async (name) => {
    const hasManifestFile = bytes.has(manifestFile(name));
    const manifest = hasManifestFile ? (known.get(name) ?? (await readManifest(target, name))) : undefined;
    if (manifest !== undefined) known.set(name, manifest);
    return { name, bytes: bytes.get(dataFile(name)), manifest, hasManifestFile };
  });
  for (const name of known.keys()) if (!bytes.has(manifestFile(name))) known.delete(name);
  return { files, entries };
}

/** Whether the data file has the size that the manifest says. */
function isGood({ manifest, bytes }: CatalogueEntry): boolean {
  return manifest !== undefined && manifest.bytes === bytes;
}

/** The backups that can be restored, as far as a listing shows. */
export function restorable({ entries }: Catalogue): readonly Manifest[] {
  return entries.filter(isGood).flatMap(({ manifest }) => manifest ?? []);
}

/** What is wrong with an entry, as a sentence that begins with the name of a file; undefined if a listing shows no problem. */
export function describeProblem(entry: CatalogueEntry): string | undefined {
  const { name, bytes, manifest, hasManifestFile } = entry;
  if (!hasManifestFile) return `${dataFile(name)} is there, and its manifest is missing`;
  if (manifest === undefined)
    return `${manifestFile(name)} is damaged, or is of another version of Counterfoil`;
  if (bytes === undefined) return `${dataFile(name)} is missing`;
  return isGood(entry) ? undefined : `${dataFile(name)} has ${bytes} bytes instead of ${manifest.bytes}`;
}

/** The store to which a target belongs (`claimTarget`). */
export interface Owner {
  /** The version of these fields. */
  readonly owner: typeof ownerVersion;
  readonly store_id: string;
  /** When it claimed the target (RFC 3339). */
  readonly since: string;
  /** The previous owners, the latest last. Their backups stay. */
  readonly former: readonly { readonly store_id: string; readonly until: string }[];
}

export const ownerFile = 'counterfoil-owner.json';
export const ownerVersion = 1;

/** The owner of a target; undefined if it has none, `damaged` if the file that names it was altered. Throws BackupFailed. */
export async function readOwner(target: BackupTarget): Promise<Owner | 'damaged' | undefined> {
  const bytes = await readSmall(target, ownerFile, recordBytesMax);
  if (bytes === undefined) return undefined;
  const found = readRecord(bytes) as Owner | undefined;
  return found?.owner === ownerVersion ? found : 'damaged';
}

/** The id of the owner, if the target names it. */
export async function readOwnerId(target: BackupTarget): Promise<string | undefined> {
  const owner = await readOwner(target);
  return owner === 'damaged' ? undefined : owner?.store_id;
}

/**
 * The backups that can be restored, by the id of their store and in the order of their commits. The owner's newest backup is the last.
 * Throws BackupFailed.
 */
export async function backupsByStore(
  target: BackupTarget,
): Promise<ReadonlyMap<string, readonly Manifest[]>> {
  return (await readByStore(target)).stores;
}

/** The same backups in one list. */
export async function backupsIn(target: BackupTarget): Promise<readonly Manifest[]> {
  return [...(await backupsByStore(target)).values()].flat();
}

/** A backup as its manifest describes it. */
interface DescribedBackup {
  readonly name: string;
  /** The size of the data file; undefined if it is missing. */
  readonly bytes: number | undefined;
  /** Undefined if the data file is missing or has another size, or the manifest is damaged or of another version: no restore takes it. */
  readonly manifest: Manifest | undefined;
}

export interface DescribedBackups {
  /** The number of backups at the target. */
  readonly total: number;
  /**
   * First the backups that cannot be restored, because they may be the newest; then those of the owner, the newest first; then those of
   * other stores.
   */
  readonly newest: readonly DescribedBackup[];
}

/**
 * Describes the newest backups, also those that cannot be restored. Throws BackupFailed.
 *
 * @param known manifests that were read before (`readCatalogue`)
 */
export async function describeBackups(
  target: BackupTarget,
  countMax: number,
  known: Map<string, Manifest>,
): Promise<DescribedBackups> {
  const { catalogue, stores } = await readByStore(target, known);
  // Data without a manifest is what a killed command has left.
  const unusable = catalogue.entries
    .filter((entry) => entry.hasManifestFile && !isGood(entry))
    .map(({ name, bytes }) => ({ name, bytes, manifest: undefined }))
    .reverse();
  const good = [...stores.values()].flat().reverse();
  const described = good.map((manifest) => ({ name: manifest.name, bytes: manifest.bytes, manifest }));
  return { total: unusable.length + good.length, newest: [...unusable, ...described].slice(0, countMax) };
}

async function readByStore(target: BackupTarget, known?: Map<string, Manifest>) {
  const [catalogue, ownerId] = await Promise.all([readCatalogue(target, known), readOwnerId(target)]);
  return { catalogue, stores: byStore(restorable(catalogue), ownerId) };
}
