import { mapWithConcurrency, requestsAtOnceMax } from '../../../backup/small-files.ts';
import type { BackupTarget, TargetFile } from '../../../backup/target.ts';
import { backupName, dataFile, type Manifest, manifestFile, readManifest } from './manifest.ts';

/** A backup of which the target has a file. */
export interface CatalogueEntry {
  readonly name: string;
  /** Of the data file; undefined when it is missing. */
  readonly bytes: number | undefined;
  /** Undefined when it is missing or was altered, or is not one of this version. */
  readonly manifest: Manifest | undefined;
  readonly hasManifestFile: boolean;
}

/** What a target holds. Files that are not named as ours are left alone. */
export interface Catalogue {
  readonly files: readonly TargetFile[];
  /** Sorted by name. */
  readonly entries: readonly CatalogueEntry[];
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

/** Whether the data has the size that the manifest says. */
export function isGood({ manifest, bytes }: CatalogueEntry): boolean {
  return manifest !== undefined && manifest.bytes === bytes;
}

/** The backups that can be restored, as far as a listing shows it. */
export function restorable({ entries }: Catalogue): readonly Manifest[] {
  return entries.filter(isGood).flatMap(({ manifest }) => manifest ?? []);
}

/** What is wrong with an entry: a sentence that begins with the name of a file; undefined if a listing shows nothing. */
export function describeProblem(entry: CatalogueEntry): string | undefined {
  const { name, bytes, manifest, hasManifestFile } = entry;
  if (!hasManifestFile) return `${dataFile(name)} is there, and its manifest is missing`;
  if (manifest === undefined)
    return `${manifestFile(name)} is damaged, or is of another version of Counterfoil`;
  if (bytes === undefined) return `${dataFile(name)} is missing`;
  return isGood(entry) ? undefined : `${dataFile(name)} has ${bytes} bytes instead of ${manifest.bytes}`;
}
