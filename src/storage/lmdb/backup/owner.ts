import { setTimeout as sleep } from 'node:timers/promises';
import { readRecord, readSmall, recordBytes } from '../../../backup/small-files.ts';
import { BackupFailed, type BackupTarget } from '../../../backup/target.ts';
import { notedCommit } from '../file/failure.ts';
import { isFile } from '../file/format.ts';
import { lastEntry } from '../log/journal.ts';
import { openStore, openStoreToRead } from '../store.ts';
import { readCatalogue, restorable } from './catalogue.ts';
import { claimSettleMs, formerStoresMax, manifestBytesMax } from './limits.ts';

/**
 * A target has the backups of one store: with two, the retention of one would delete the backups of the other, and a restore would
 * not know which one is meant. So a store claims a target before its first backup, and every other store is rejected. A restored or
 * copied store is another store, until the operator says that it replaces the first one (`takesOver`): only they know whether that one
 * is stopped for good.
 */
interface Owner {
  /** The version of these fields. */
  readonly owner: typeof ownerVersion;
  readonly store_id: string;
  /** Since when (RFC 3339). */
  readonly since: string;
  /** The stores before it, the latest last. Their backups stay. */
  readonly former: readonly { readonly store_id: string; readonly until: string }[];
}

export const ownerFile = 'counterfoil-owner.json';
const ownerVersion = 1;

/** The steps of a claim; killed after any of them, the target has one owner, or none. */
export const claimSteps = ['looked', 'written', 'claimed'] as const;
type ClaimStep = (typeof claimSteps)[number];

interface ClaimOptions {
  /** Whether the store takes a target that belongs to another one. */
  readonly takesOver?: boolean;
  /** Called after each step. */
  readonly passed?: (step: ClaimStep) => void;
}

/** The owner of a target; undefined if it has none. `damaged` if the file that says so was altered. Throws BackupFailed. */
export async function readOwner(target: BackupTarget): Promise<Owner | 'damaged' | undefined> {
  const bytes = await readSmall(target, ownerFile, manifestBytesMax);
  if (bytes === undefined) return undefined;
  const found = readRecord(bytes) as Owner | undefined;
  return found?.owner === ownerVersion ? found : 'damaged';
}

/** The id of the owner, if the target says it. */
export async function readOwnerId(target: BackupTarget): Promise<string | undefined> {
  const owner = await readOwner(target);
  return owner === 'damaged' ? undefined : owner?.store_id;
}

/** Makes a store the owner of a target that has none. Throws BackupFailed with `target_owned` if it belongs to another one. */
export async function claimTarget(
  target: BackupTarget,
  storeId: string,
  { takesOver = false, passed = () => undefined }: ClaimOptions = {},
): Promise<void> {
  const owner = await readOwner(target);
  const ownerId = owner === 'damaged' ? undefined : owner?.store_id;
  if (ownerId === storeId) return;
  if (!takesOver) await checkIsFree(target, storeId, owner);
  passed('looked');
  const bytes = recordBytes(newClaim(storeId, owner));
  if (owner === undefined) await target.put(ownerFile, bytes);
  else await target.replace(ownerFile, bytes);
  passed('written');
  // Of two claims at once a server without conditional writes keeps the later one.
  if (target.drafts === undefined) await sleep(claimSettleMs);
  await checkOwner(target, storeId);
  passed('claimed');
}

/** Throws BackupFailed with `target_owned` unless the store is the owner. */
export async function checkOwner(target: BackupTarget, storeId: string): Promise<void> {
  const owner = await readOwner(target);
  if (owner === undefined)
    throw new BackupFailed('target_owned', `${target.name}: ${ownerFile} has gone; run this again`);
  if (owner === 'damaged') throw damaged(target);
  if (owner.store_id !== storeId) throw owned(target, storeId, owner.store_id);
}

/** Why a store may not make backups at a target: a sentence; undefined if it may. Changes nothing. */
export async function whyRejected(target: BackupTarget, storeId: string): Promise<string | undefined> {
  try {
    const owner = await readOwner(target);
    if (owner === 'damaged' || owner?.store_id !== storeId) await checkIsFree(target, storeId, owner);
    return undefined;
  } catch (error) {
    if (error instanceof BackupFailed && error.code === 'target_owned') return error.message;
    throw error;
  }
}

async function checkIsFree(
  target: BackupTarget,
  storeId: string,
  owner: Owner | 'damaged' | undefined,
): Promise<void> {
  if (owner === 'damaged') throw damaged(target);
  if (owner !== undefined) throw owned(target, storeId, owner.store_id);
  // The file that names the owner may have been deleted.
  const ids = restorable(await readCatalogue(target)).map(({ store_id }) => store_id);
  const other = ids.at(-1);
  if (other !== undefined && !ids.includes(storeId)) throw owned(target, storeId, other);
}

function newClaim(storeId: string, before: Owner | 'damaged' | undefined): Owner {
  const since = new Date().toISOString();
  const { store_id, former = [] } = before === 'damaged' ? {} : (before ?? {});
  const all = store_id === undefined ? former : [...former, { store_id, until: since }];
  return { owner: ownerVersion, store_id: storeId, since, former: all.slice(-formerStoresMax) };
}

function owned({ name }: BackupTarget, storeId: string, ownerId: string): BackupFailed {
  return new BackupFailed(
    'target_owned',
    `${name}: belongs to store ${ownerId}, and this is store ${storeId} (a restored or copied store is another one); choose another ` +
      `target, or, if this store replaces ${ownerId}, which must be stopped for good, run counterfoil backup ${name} --take-over`,
  );
}

function damaged({ name }: BackupTarget): BackupFailed {
  return new BackupFailed(
    'target_owned',
    `${name}: ${ownerFile} is damaged, so it is unknown to which store the target belongs; if it belongs to this one, run ` +
      `counterfoil backup ${name} --take-over`,
  );
}

/**
 * The id of a store. A store that is a copy, or that was overwritten by an older one, gets its new id first, as when a service opens it:
 * a backup under the id of the original would be taken for one of that. Throws as `openStore` does.
 */
export async function settleStoreId(file: string): Promise<string> {
  const noted = notedCommit(file);
  const found = openStoreToRead(file);
  const { id, file: notedFile } = found.format;
  const last = lastEntry(found)?.commit ?? 0;
  await found.close();
  if (noted <= last && isFile(file, notedFile)) return id;
  const store = openStore(file);
  await store.close();
  return store.format.id;
}
