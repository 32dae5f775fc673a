import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DamagedStoreError, ServiceError, SettingsError } from '../../errors.ts';
import type {
  Engine,
  Rejection,
  Scan,
  ScanOptions,
  Space,
  SpaceFacts,
  SpaceRemoval,
  Write,
} from '../engine.ts';
import { commitWritesMax, diskReserveBytes } from '../limits.ts';
import { DamagedValueError, type DamageFound } from './file/checked-database.ts';
import { DiskProbe, storeError } from './file/failure.ts';
import { verifyStore } from './file/verify.ts';
import { damagesReportedMax, flushMsMax } from './limits.ts';
import type { Write as AnyWrite, Batch, CommitResult } from './log/committer.ts';
import { GroupCommit } from './log/group-commit.ts';
import { HeldSnapshots, LastCommit, Repairs, type SnapshotBounds, SnapshotRefresh } from './log/snapshots.ts';
import { WriterThread } from './log/writer-thread.ts';
import { Reader } from './reader.ts';
import { openStore, reusableBytes, type Store } from './store.ts';

/** Called when the state on disk is no longer known; the process must end and restart. */
type StoreLost = (error: Error) => void;

export interface LmdbOptions {
  /** With less free space than this, the disk counts as full; the limit of the same name by default. */
  readonly diskReserveBytes?: number | undefined;
  /** After this running time of the process, a flush counts as hung; the limit of the same name by default. */
  readonly flushMsMax?: number | undefined;
  /** Called after each transaction with its duration, including the flush, and the number of commits that shared it. */
  readonly flushed?: (ms: number, commits: number) => void;
  readonly snapshots?: SnapshotBounds | undefined;
  /** Called once for each damage that a read or a write finds, with one sentence for the log. */
  readonly damaged?: DamageFound;
}

/**
 * The embedded engine: LMDB in its own folder. This thread reads, another one writes. Throws SettingsError if the store is damaged, has a
 * different version, or is being restored.
 *
 * @param folder created if missing; any number of processes may have it open
 */
export function openLmdbEngine(
  folder: string,
  lost: StoreLost = throwLater,
  options: LmdbOptions = {},
): Engine {
  checkIsNotBeingRestored(folder);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const engine = new LmdbEngine(storeFile(folder), lost, options);
  keepPrivate(storeFile(folder));
  return engine;
}

/** LMDB creates files that every user can read if the umask allows it, and the folder may already exist with other permissions. */
function keepPrivate(file: string): void {
  for (const each of [file, `${file}-lock`]) {
    try {
      chmodSync(each, 0o600);
    } catch {
      // The file belongs to another user, who controls its permissions.
    }
  }
}

export function storeFile(folder: string): string {
  return join(folder, 'store.mdb');
}

/**
 * The folder in which a restore works. It is within the data folder, so that the last step is a rename. A killed restore leaves it, and the
 * next one removes it.
 */
export function restoreDraft(folder: string): string {
  return join(folder, 'restoring');
}

/** During a restore, a new, empty store would take payments without knowing the earlier ones. */
function checkIsNotBeingRestored(folder: string): void {
  if (existsSync(storeFile(folder)) || !existsSync(restoreDraft(folder))) return;
  throw new SettingsError([
    `data (COUNTERFOIL_DATA): a restore into ${folder} is under way, or was interrupted: run counterfoil restore again, or remove ${restoreDraft(folder)}`,
  ]);
}

function throwLater(error: Error): void {
  setImmediate(() => {
    throw error;
  });
}

class LmdbEngine implements Engine {
  readonly reads = 'snapshot';
  readonly #store: Store;
  readonly #lastCommit: LastCommit;
  readonly #reader: Reader;
  readonly #refresh = new SnapshotRefresh(() => this.#refreshReader());
  readonly #repairs = new Repairs(() => this.#writer.repair());
  readonly #writer: WriterThread;
  readonly #probe: DiskProbe;
  readonly #flushed: LmdbOptions['flushed'];
  readonly #damaged: LmdbOptions['damaged'];
  readonly #damages = new Set<string>();
  #closing = false;
  readonly #commits = new GroupCommit<readonly AnyWrite[], CommitResult>((batch) => this.#flush(batch));

  constructor(file: string, lost: StoreLost, options: LmdbOptions) {
    const reserveBytes = options.diskReserveBytes ?? diskReserveBytes;
    this.#flushed = options.flushed;
    this.#damaged = options.damaged;
    this.#store = openStore(file, { damaged: (problem) => this.#reportDamage(problem) });
    this.#lastCommit = new LastCommit(file);
    this.#reader = new Reader(this.#store, this.#lastCommit, new HeldSnapshots(file, options.snapshots));
    this.#probe = new DiskProbe(file, () => reusableBytes(this.#store), reserveBytes);
    const data = { file, diskReserveBytes: reserveBytes };
    this.#writer = new WriterThread(data, options.flushMsMax ?? flushMsMax, {
      lost,
      damaged: (problem) => this.#reportDamage(problem),
      repaired: () => this.#repairs.answered(),
    });
  }

  #refreshReader(): Promise<void> | undefined {
    if (this.#reader.refresh()) return undefined;
    return this.#repairs.repaired().then(() => this.#reader.refreshAfterRepair());
  }

  async get(space: Space, id: string): Promise<string | undefined> {
    await this.#refresh.done();
    return this.#reader.get(space, id);
  }

  async spaces(): Promise<readonly Space[]> {
    await this.#refresh.done();
    return this.#reader.spaces();
  }

  async describe(space: Space): Promise<SpaceFacts | undefined> {
    await this.#refresh.done();
    return this.#reader.describe(space);
  }

  async count(space: Space): Promise<number | undefined> {
    return (await this.describe(space))?.count;
  }

  async scan(space: Space, options: ScanOptions = {}): Promise<Scan | undefined> {
    await this.#refresh.done();
    try {
      return this.#reader.scan(space, options);
    } catch (error) {
      const hasTooManyReaders = (error as Error).message.startsWith('MDB_READERS_FULL');
      throw hasTooManyReaders
        ? new ServiceError('overloaded', { retryAfterSeconds: 1, cause: error })
        : error;
    }
  }

  async commit(writes: readonly Write[], caller?: string): Promise<Rejection | undefined> {
    if (writes.length === 0 || writes.length > commitWritesMax) {
      throw new RangeError(`a commit has 1 to ${commitWritesMax} writes`);
    }
    return this.#commit(writes, caller);
  }

  async removeSpace(space: Space): Promise<SpaceRemoval> {
    const rejection = await this.#commit([{ kind: 'remove', space, id: '' }]);
    if (rejection === undefined) return 'removed';
    return rejection.reason === 'exists' ? 'not_empty' : 'missing';
  }

  async #commit(writes: readonly AnyWrite[], caller?: string): Promise<Rejection | undefined> {
    if (this.#closing) throw new ServiceError('unavailable', { detail: 'the store is closed' });
    const result = await this.#commits.add(writes, {
      size: countCharacters(writes),
      writes: writes.length,
      caller,
    });
    if (result === 'damaged') throw new DamagedValueError('what this commit depends on cannot be read');
    if (result === 'full') throw storeError({ kind: 'full', reason: 'the disk is full' });
    return result;
  }

  /** Makes the checks before each transaction. They write one byte, without a flush, to a file whose content nothing reads. */
  async checkWritable(): Promise<void> {
    if (this.#closing) throw new ServiceError('unavailable', { detail: 'the store is closed' });
    const failure = this.#probe.whyUnwritable(0);
    if (failure !== undefined) throw storeError(failure);
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#commits.drain();
    await this.#writer.close();
    this.#probe.close();
    await this.#store.close();
    // Close this last: closing a file releases LMDB's locks on it, which mark the store as open.
    this.#lastCommit.close();
  }

  #reportDamage(problem: string): void {
    if (this.#damages.has(problem) || this.#damages.size === damagesReportedMax) return;
    this.#damages.add(problem);
    this.#damaged?.(problem);
  }

  async #flush(batch: Batch): Promise<readonly CommitResult[]> {
    const began = performance.now();
    const outcome = await this.#writer.write(batch);
    this.#flushed?.(performance.now() - began, batch.length);
    if (outcome.kind === 'durable') return batch.map((_, index) => outcome.rejections[index]);
    throw storeError(outcome.failure);
  }
}

function countCharacters(writes: readonly AnyWrite[]): number {
  let size = 0;
  for (const write of writes) size += write.id.length + ('value' in write ? write.value.length : 0);
  return size;
}

/** The file that asks the next start to verify the store. */
const lossMarker = (folder: string) => join(folder, 'verify-at-start');

/** Records that a flush failed, so that the next start verifies the store before it serves. */
export function noteLoss(folder: string): void {
  try {
    writeFileSync(
      lossMarker(folder),
      'A flush failed. The next start verifies the store and removes this file.\n',
    );
  } catch {
    // The disk that failed the flush may fail this too.
  }
}

/** Verifies a store whose last flush failed. Throws DamagedStoreError if it is damaged. */
export async function verifyAfterLoss(folder: string): Promise<void> {
  if (!existsSync(lossMarker(folder))) return;
  const { problems } = await verifyStore(storeFile(folder));
  if (problems.length > 0) {
    throw new DamagedStoreError(problems.map((problem) => `data (COUNTERFOIL_DATA): ${problem}`));
  }
  rmSync(lossMarker(folder), { force: true });
}
