import { setTimeout as sleep } from 'node:timers/promises';
import { recordBytes } from '../../../backup/small-files.ts';
import { BackupFailed, type BackupTarget } from '../../../backup/target.ts';
import { notedCommit } from '../file/failure.ts';
import { isFile } from '../file/format.ts';
import { lastEntry } from '../log/journal.ts';
import { openStore, openStoreToRead } from '../store.ts';
import { type Owner, ownerFile, ownerVersion, readCatalogue, readOwner, restorable } from './catalogue.ts';

/**
 * A target has the backups of one store: with two, the retention of one store would delete the backups of the other, and a restore
 * would not know which store is meant. So a store claims a target before its first backup, and every other store is rejected. A
 * restored or copied store is another store until the operator says that it replaces the first one (`takesOver`): only the operator
 * knows whether the first one is stopped for good.
 */

/**
 * How long a claim of a distant target waits before it reads the owner again. A concurrent claim that began before has ended by
 * then.
 */
const claimSettleMs = 1_000;
/** Former owners that a target names: each is a restore or a move of the store. */
const formerStoresMax = 32;

/** The steps of a claim. If the process is killed after any of them, the target has one owner or none. */
export const claimSteps = ['looked', 'written', 'claimed'] as const;
type ClaimStep = (typeof claimSteps)[number];

interface ClaimOptions {
  /** Whether the store takes over a target that belongs to another one. */
  readonly takesOver?: boolean;
  /** Called after each step. */
  readonly passed?: (step: ClaimStep) => void;
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
  // Of two concurrent claims, a server without conditional writes keeps the later one.
  if (target.drafts === undefined) await sleep(claimSettleMs);
  await checkOwner(target, storeId);
  passed('claimed');
}

/** Throws BackupFailed with `target_owned` unless the store is the owner. */
export async function checkOwner(target: BackupTarget, storeId: string): Promise<void> {
  const owner = await readOwner(target);
  if (owner === undefined)
    throw new BackupFailed('target_owned', `${target.name}: ${ownerFile} has gone; run this again`);
  if (owner === 'damaged') throw damagedOwnerError(target);
  if (owner.store_id !== storeId) throw ownedError(target, storeId, owner.store_id);
}

/** Why a store may not make backups at a target, as a sentence; undefined if it may. Changes nothing. */
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
  if (owner === 'damaged') throw damagedOwnerError(target);
  if (owner !== undefined) throw ownedError(target, storeId, owner.store_id);
  // The owner's file may have been deleted.
  const ids = restorable(await readCatalogue(target)).map(({ store_id }) => store_id);
  const other = ids.at(-1);
  if (other !== undefined && !ids.includes(storeId)) throw ownedError(target, storeId, other);
}

function newClaim(storeId: string, before: Owner | 'damaged' | undefined): Owner {
  const since = new Date().toISOString();
  const { store_id, former = [] } = before === 'damaged' ? {} : (before ?? {});
  const all = store_id === undefined ? former : [...former, { store_id, until: since }];
  return { owner: ownerVersion, store_id: storeId, since, former: all.slice(-formerStoresMax) };
}

function ownedError({ name }: BackupTarget, storeId: string, ownerId: string): BackupFailed {
  return new BackupFailed(
    'target_owned',
    `${name}: belongs to store ${ownerId}, and this is store ${storeId} (a restored or copied store is another one); choose another ` +
      `target, or, if this store replaces ${ownerId}, which must be stopped for good, run counterfoil backup ${name} --take-over`,
  );
}

function damagedOwnerError({ name }: BackupTarget): BackupFailed {
  return new BackupFailed(
    'target_owned',
    `${name}: ${ownerFile} is damaged, so it is unknown to which store the target belongs; if it belongs to this one, run ` +
      `counterfoil backup ${name} --take-over`,
  );
}

/**
 * The id of a store. A copy of a store, or a store that was overwritten with an older one, first gets its new id, as when a service opens
 * it: under the id of the original, its backup would count as one of the original. Throws as `openStore` does.
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
