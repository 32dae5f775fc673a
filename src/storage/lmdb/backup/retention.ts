import type { BackupTarget, TargetFile } from '../../../backup/target.ts';
import { readCatalogue, restorable } from './catalogue.ts';
import { backupName, byStore, dataFile, type Manifest, manifestFile } from './manifest.ts';
import { parseHeartbeatName, readNewest } from './notes.ts';
import { parseSegmentName, readIntactSegment, type SegmentName } from './segment.ts';

/** Deletes what is no longer needed, but never the backups of another store: they may be all that is left of that store. */

/**
 * Removes what killed commands have left. A file with a manifest stays, even if this version cannot read the manifest: a later version
 * may have made the backup. The newest backup stays even without a manifest: somebody has removed the manifest, and a restore reports
 * that.
 */
export async function tidy(target: BackupTarget, storeId: string): Promise<void> {
  const [files, newest] = await Promise.all([target.list(), readNewest(target, storeId)]);
  const all = new Set(files.map(({ name }) => name));
  const made = newest === 'damaged' ? undefined : newest?.name;
  const left = files.filter((file) => {
    const name = backupName(file.name);
    const isListed = name === undefined || name === made || all.has(manifestFile(name));
    return !isListed && target.isAbandoned(file);
  });
  await target.remove(left.map(({ name }) => name));
}

/**
 * Keeps this number of the store's newest backups, by their commits. Deletes the older ones, and then the segments that only they needed.
 *
 * @param made the newest backup, which a late target may not list yet
 * @returns the names of the deleted backups
 */
export async function keepNewest(
  target: BackupTarget,
  keep: number,
  made: Manifest,
): Promise<readonly string[]> {
  const stores = byStore(restorable(await readCatalogue(target)), made.store_id);
  const others = (stores.get(made.store_id) ?? []).filter(({ name }) => name !== made.name);
  const old = others.slice(0, Math.max(0, others.length - (keep - 1)));
  for (const { name } of old) {
    // Without its manifest it is no longer a backup, whatever happens next.
    await target.remove([manifestFile(name)]);
    await target.remove([dataFile(name)]);
  }
  const elsewhere = [...stores].flatMap(([id, backups]) => (id === made.store_id ? [] : backups));
  const files = await target.list();
  const useless = await findUselessSegments(target, files, {
    made,
    kept: [...others.slice(old.length), made],
    deleted: old,
    elsewhere,
  });
  const heartbeats = files.filter(({ name }) => {
    const id = parseHeartbeatName(name);
    return id !== undefined && id !== made.store_id && !stores.has(id);
  });
  await target.remove([...useless, ...heartbeats].map(({ name }) => name));
  return old.map(({ name }) => name);
}

interface Retained {
  readonly made: Manifest;
  readonly kept: readonly Manifest[];
  readonly deleted: readonly Manifest[];
  /** The backups of other stores. */
  readonly elsewhere: readonly Manifest[];
}

/** Keeps segments that follow a kept backup, and segments of other stores. */
async function findUselessSegments(
  target: BackupTarget,
  files: readonly TargetFile[],
  { made, kept, deleted, elsewhere }: Retained,
): Promise<readonly SegmentName[]> {
  const needed = new Map<string, number>();
  for (const { chain, position } of kept)
    if (chain !== undefined) needed.set(chain, Math.min(position, needed.get(chain) ?? position));
  const ofDeleted = new Set(deleted.map(({ chain }) => chain));
  const ofOthers = new Set(elsewhere.map(({ chain }) => chain));
  const useless: SegmentName[] = [];
  const isOurs = new Map<string, boolean>();
  for (const segment of files.flatMap(({ name }) => parseSegmentName(name) ?? [])) {
    const { chain, last } = segment;
    const from = needed.get(chain);
    if (from !== undefined || ofDeleted.has(chain) || ofOthers.has(chain)) {
      if (!ofOthers.has(chain) && last <= (from ?? Infinity)) useless.push(segment);
      continue;
    }
    // No backup has this chain: all were deleted, or the first is not made yet.
    if (last > made.position) continue;
    if (!isOurs.has(chain))
      isOurs.set(
        chain,
        elsewhere.length === 0 ||
          (await readIntactSegment(target, segment.name))?.head.store_id === made.store_id,
      );
    if (isOurs.get(chain)) useless.push(segment);
  }
  return useless;
}
