import { existsSync, mkdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { SettingsError } from '../../../errors.ts';
import { version } from '../../../version.ts';
import { diskReserveBytes } from '../../limits.ts';
import { Memtable } from '../memtable.ts';
import { openStoreToRead, reusableBytes } from '../store.ts';
import { type Progress, verifyStore } from '../verify.ts';
import { checksumOf, flush, putInPlace, writeWhole } from './files.ts';
import { dataFile, type Manifest, manifestFile, manifestVersion, nameAt, readManifest } from './manifest.ts';
import { draftFolder, keepNewest, tidy } from './target.ts';

/** What a backup goes through, in this order; killed after any of them, it leaves no backup or a whole one. */
export const backupSteps = ['begun', 'copied', 'verified', 'described', 'data in place', 'done'] as const;
export type BackupStep = (typeof backupSteps)[number];

export interface BackupOptions {
  /** How many backups stay; all if undefined. */
  readonly keep?: number | undefined;
  readonly progress?: Progress;
  /** Called after each step. */
  readonly passed?: (step: BackupStep) => void;
}

export interface MadeBackup extends Manifest {
  /** Names of the older backups that were deleted. */
  readonly deleted: readonly string[];
}

/** The backup could not be made, and none is listed; the message is a sentence. */
export class BackupFailed extends Error {
  readonly code: 'target_full' | 'target_unusable' | 'copy_damaged';

  constructor(code: BackupFailed['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/**
 * Copies one snapshot of the store to a folder, verifies the copy, and lists it there. The service may run. Older backups are
 * deleted only after the new one is good. Throws BackupFailed, and SettingsError if the store cannot be opened or the target is its folder.
 *
 * @param file of a store that exists
 * @param target made if only its last part is missing; one backup at a time is made in it
 */
export async function makeBackup(
  file: string,
  target: string,
  { keep, progress, passed = () => undefined }: BackupOptions = {},
): Promise<MadeBackup> {
  checkIsElsewhere(file, target);
  const draft = draftFolder(target);
  try {
    // Not with its parents: a backup belongs on the disk that was to be mounted there.
    if (!existsSync(target)) mkdirSync(target, { mode: 0o700 });
    tidy(target);
    mkdirSync(draft, { mode: 0o700 });
    passed('begun');
    let now = Date.now();
    while (existsSync(join(target, dataFile(nameAt(now))))) now++;
    const name = nameAt(now);
    const copy = join(draft, 'store.mdb');
    await copySnapshot(file, copy);
    flush(copy);
    passed('copied');
    await checkIsWhole(copy, progress);
    passed('verified');
    const manifest: Manifest = {
      manifest: manifestVersion,
      name,
      time: new Date(now).toISOString(),
      ...(await contentOf(copy)),
      file: dataFile(name),
      bytes: statSync(copy).size,
      sha256: await checksumOf(copy),
      service_version: version,
    };
    passed('described');
    putInPlace(copy, join(target, manifest.file));
    passed('data in place');
    const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
    writeWhole(join(draft, 'manifest.json'), join(target, manifestFile(name)), text);
    // Another backup into the folder at the same time takes a file without a manifest for the rest of a killed one.
    if (readManifest(target, name) === undefined)
      throw new BackupFailed(
        'target_unusable',
        `${target}: another command has changed it meanwhile; run this again`,
      );
    passed('done');
    return { ...manifest, deleted: keep === undefined ? [] : keepNewest(target, keep) };
  } catch (error) {
    throw failureOf(error, target);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** In the store's own folder, a backup is lost with the store. */
function checkIsElsewhere(file: string, target: string): void {
  const way = relative(resolve(file, '..'), resolve(target));
  if (way === '' || !way.startsWith('..'))
    throw new SettingsError([`${target}: is in the data folder; a backup there is lost with the data`]);
}

/** LMDB's own copy of one snapshot, without free pages: what was deleted from the store is not in it. */
async function copySnapshot(file: string, to: string): Promise<void> {
  const store = openStoreToRead(file);
  try {
    checkRoom(file, to, reusableBytes(store));
    await store.root.backup(to, true);
  } catch (error) {
    // LMDB reports what the system says without a code.
    if (error instanceof BackupFailed) throw error;
    throw new BackupFailed('target_unusable', `the copy cannot be written: ${(error as Error).message}`);
  } finally {
    await store.close();
  }
}

/** A copy on the disk of the store must not make that disk full for the service. */
export function checkRoom(file: string, to: string, reusable: number): void {
  const folder = resolve(to, '..');
  const { size, dev } = statSync(file);
  const { bavail, bsize } = statfsSync(folder);
  const reserve = statSync(folder).dev === dev ? diskReserveBytes : 0;
  const needed = size - reusable + reserve;
  if (bavail * bsize < needed)
    throw new BackupFailed(
      'target_full',
      `the target has room for ${bavail * bsize} bytes, and the backup needs ${needed}`,
    );
}

async function checkIsWhole(copy: string, progress: Progress | undefined): Promise<void> {
  const { problems } = await verifyStore(copy, progress);
  if (problems.length > 0)
    throw new BackupFailed(
      'copy_damaged',
      `the copy is damaged, so it does not count; run counterfoil verify on the store: ${problems.join('; ')}`,
    );
}

/** The last commit of a store that nobody writes to, and what it holds. */
async function contentOf(file: string): Promise<Pick<Manifest, 'position' | 'counts' | 'store_format'>> {
  const store = openStoreToRead(file);
  try {
    const memtable = new Memtable(store);
    memtable.catchUp();
    const counts: Record<string, number> = { tables: 0, table_items: 0 };
    for (const space of memtable.spaces()) {
      const count = memtable.record(space)?.count ?? 0;
      const [family = '', kind = ''] = space.split(':');
      if (family === 'table') {
        counts.tables = (counts.tables ?? 0) + 1;
        counts.table_items = (counts.table_items ?? 0) + count;
      } else if (count > 0) counts[kind.replaceAll('-', '_')] = count;
    }
    return { position: memtable.last, counts, store_format: store.format.format };
  } finally {
    await store.close();
  }
}

const full: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** What the system reports about the target becomes a sentence; errors of the store stay as they are. */
function failureOf(error: unknown, target: string): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (error instanceof BackupFailed) {
    const isFull = /No space left|File too large|quota exceeded/i.test(message);
    return isFull ? new BackupFailed('target_full', `${target}: ${message}`, error) : error;
  }
  if (full.has(code)) return new BackupFailed('target_full', `${target}: the disk is full`, error);
  if (syscall !== undefined)
    return new BackupFailed('target_unusable', `${target}: cannot be written (${code})`, error);
  return error;
}
