import { chmodSync, closeSync, fstatSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { recordBytes } from '../../../backup/small-files.ts';
import { asBackupFailure, BackupFailed, type BackupTarget } from '../../../backup/target.ts';
import { draftFolder, flush, removeDeadDrafts } from '../../../durable-files.ts';
import { SettingsError } from '../../../errors.ts';
import { version } from '../../../version.ts';
import { readHead } from '../file/pages.ts';
import { type Progress, verifyStore } from '../file/verify.ts';
import { openStoreToRead } from '../store.ts';
import { backupsByStore } from './catalogue.ts';
import { describeContent, hashFile } from './content.ts';
import {
  dataFile,
  type Manifest,
  manifestFile,
  manifestVersion,
  nameAt,
  nextTimeline,
  readManifest,
} from './manifest.ts';
import { noteNewest } from './notes.ts';
import { checkOwner, claimSteps, claimTarget, settleStoreId } from './owner.ts';
import { keepNewest, tidy } from './retention.ts';
import { copySnapshot, type Rest } from './snapshot-copy.ts';

/** The steps of a backup, in order. If the process is killed after any of them, there is no backup or a whole one. */
export const backupSteps = [
  ...claimSteps,
  ...(['begun', 'copied', 'verified', 'described', 'data in place', 'listed', 'noted', 'done'] as const),
] as const;
export type BackupStep = (typeof backupSteps)[number];

interface BackupOptions {
  /** How many backups to keep; all if undefined. */
  readonly keep?: number | undefined;
  /** Whether the store takes over a target that belongs to another one (`claimTarget`). */
  readonly takesOver?: boolean;
  readonly progress?: Progress;
  /** Called after each step. */
  readonly passed?: (step: BackupStep) => void;
}

interface MadeBackup extends Manifest {
  /** Names of the older backups that were deleted. */
  readonly deleted: readonly string[];
}

/**
 * Copies one snapshot of the store to a target, verifies the copy, and lists it there. The service may run. Older backups are deleted
 * only after the new one is good. While others write, the backup works a tenth of the time, and blocks its thread for the rest. Throws
 * BackupFailed, also if the target belongs to another store, and SettingsError if the store cannot be opened or the target is its folder.
 *
 * @param file the file of an existing store. For a distant target, the copy is first made in its folder
 * @param target make one backup at a time in it
 */
export async function makeBackup(
  file: string,
  target: BackupTarget,
  { keep, takesOver, progress, passed = () => undefined }: BackupOptions = {},
): Promise<MadeBackup> {
  const isLocal = target.drafts !== undefined;
  if (isLocal) checkIsElsewhere(file, target.name);
  await target.prepare();
  const folder = dirname(file);
  const drafts = target.drafts ?? draftFolder(folder);
  const throttle = new Throttle(file);
  const rest = () => throttle.rest();
  try {
    if (!isLocal) removeDeadDrafts(folder);
    const storeId = await settleStoreId(file);
    await claimTarget(target, storeId, { takesOver: takesOver === true, passed });
    await tidy(target, storeId);
    mkdirSync(drafts, { mode: 0o700 });
    passed('begun');
    const { name, now } = await freeName(target);
    const copy = join(drafts, 'store.mdb');
    await copyToDraft(file, copy, rest);
    chmodSync(copy, 0o600);
    flush(copy);
    passed('copied');
    await verifyCopy(copy, (items, total) => {
      progress?.(items, total);
      rest();
    });
    passed('verified');
    const content = await describeContent(copy);
    const made = (await backupsByStore(target)).get(storeId) ?? [];
    const timeline = nextTimeline(made, content);
    const manifest: Manifest = {
      manifest: manifestVersion,
      name,
      time: new Date(now).toISOString(),
      ...content,
      ...{ store_id: storeId, timeline },
      file: dataFile(name),
      bytes: statSync(copy).size,
      sha256: await hashFile(copy, rest),
      service_version: version,
    };
    passed('described');
    await noteLast(target, storeId, made.at(-1));
    await target.putFile(manifest.file, copy);
    passed('data in place');
    // Another store may have taken over the target while the copy was made.
    await checkOwner(target, storeId);
    await target.put(manifestFile(name), recordBytes(manifest));
    await checkIsListed(target, manifest);
    passed('listed');
    await noteNewest(target, { store_id: storeId, name, timeline, position: manifest.position });
    passed('noted');
    const deleted = keep === undefined ? [] : await keepNewest(target, keep, manifest);
    passed('done');
    return { ...manifest, deleted };
  } catch (error) {
    throw asBackupFailure(error, target.name);
  } finally {
    throttle.end();
    rmSync(drafts, { recursive: true, force: true });
  }
}

/**
 * Notes the last backup, in case a process listed it and died before it noted it. If this process is killed too, it leaves a file without
 * a manifest, which counts as unfinished only beside a note of the newest backup.
 */
async function noteLast(target: BackupTarget, storeId: string, last: Manifest | undefined): Promise<void> {
  if (last === undefined) return;
  const { name, timeline, position } = last;
  await noteNewest(target, { store_id: storeId, name, timeline, position });
}

/** A backup in the store's own folder is lost with the store. */
function checkIsElsewhere(file: string, target: string): void {
  const path = relative(resolve(file, '..'), resolve(target));
  if (path === '' || !path.startsWith('..'))
    throw new SettingsError([`${target}: is in the data folder; a backup there is lost with the data`]);
}

async function freeName(target: BackupTarget): Promise<{ readonly name: string; readonly now: number }> {
  const taken = new Set((await target.list()).map(({ name }) => name));
  let now = Date.now();
  while (taken.has(dataFile(nameAt(now)))) now++;
  return { name: nameAt(now), now };
}

/** A concurrent backup on another machine may take a data file without a manifest for the rest of a killed backup, and delete it. */
async function checkIsListed(target: BackupTarget, { name, file, bytes, sha256 }: Manifest): Promise<void> {
  const listed = await readManifest(target, name);
  if (listed?.sha256 === sha256 && (await target.sizeOf(file)) === bytes) return;
  throw new BackupFailed(
    'target_unusable',
    `${target.name}: another command has changed it meanwhile; run this again`,
  );
}

async function copyToDraft(file: string, to: string, rest: Rest): Promise<void> {
  const store = openStoreToRead(file);
  try {
    await copySnapshot(store, file, to, rest);
  } finally {
    await store.close();
  }
}

async function verifyCopy(copy: string, progress: Progress): Promise<void> {
  const { problems } = await verifyStore(copy, progress);
  if (problems.length > 0)
    throw new BackupFailed(
      'copy_damaged',
      `the copy is damaged, so it does not count; run counterfoil verify on the store: ${problems.join('; ')}`,
    );
}

/** A backup works a tenth of the time while others write. */
export const restPerWork = 9;
/** Growth of the store's file from which on a backup does not rest: some seconds of many updates. */
export const throttledGrowthBytesMax = 128 * 1024 * 1024;

/**
 * Pauses a backup while other processes write to the store. The lowest CPU priority alone is not enough: the backup would still use
 * every moment in which the writers wait for the disk. While nothing is written, the backup does not pause. It stops pausing when the
 * file has grown by `throttledGrowthBytesMax`, because its snapshot prevents the store from reusing old pages.
 */
export class Throttle {
  readonly #file: number;
  readonly #bytes: number;
  #transaction: bigint | undefined;
  #workedMs = cpuMs();

  /** @param file the store's file */
  constructor(file: string) {
    this.#file = openSync(file, 'r');
    this.#bytes = fstatSync(this.#file).size;
    this.#transaction = this.#lastTransaction();
  }

  /** If the store was written to since the last call, blocks this thread for a multiple of the CPU time used since then. */
  rest(): void {
    const transaction = this.#lastTransaction();
    const isInUse = transaction !== this.#transaction;
    const mayRest = fstatSync(this.#file).size - this.#bytes < throttledGrowthBytesMax;
    if (isInUse && mayRest) sleep((cpuMs() - this.#workedMs) * restPerWork);
    this.#transaction = transaction;
    this.#workedMs = cpuMs();
  }

  end(): void {
    closeSync(this.#file);
  }

  #lastTransaction(): bigint | undefined {
    return readHead(this.#file)?.transaction;
  }
}

/** The CPU time of the process: a process that waits for its turn does not work. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

const never = new Int32Array(new SharedArrayBuffer(4));

function sleep(ms: number): void {
  Atomics.wait(never, 0, 0, ms);
}
