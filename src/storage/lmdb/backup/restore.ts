import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BackupFailed, type BackupFailure, type BackupTarget } from '../../../backup/target.ts';
import { flush, putInPlace } from '../../../durable-files.ts';
import { DamagedStoreError, SettingsError } from '../../../errors.ts';
import type { Engine } from '../../engine.ts';
import { type Progress, verifyStore } from '../file/verify.ts';
import { Compaction } from '../log/compaction.ts';
import { appendEntry, writeArchiveMark } from '../log/journal.ts';
import { Memtable } from '../log/memtable.ts';
import { openLmdbEngine, restoreDraft, storeFile } from '../open.ts';
import { openStore, renewStoreId, type Store } from '../store.ts';
import { clearFailure, clearLease } from './archive-state.ts';
import { describeContent, writeChecked } from './content.ts';
import { lossesAtEnd } from './end.ts';
import type { Manifest } from './manifest.ts';
import { type Plan, planRestore, type Wanted } from './plan.ts';
import type { CommitLine } from './segment.ts';
import { Walk } from './walk.ts';

export interface RestoreOptions extends Wanted {
  /** Whether a restore continues with less if something is damaged or missing. `missing` then says what. */
  readonly acceptsMissing?: boolean | undefined;
  /** Names of files that the folder may hold, because they are not part of the store. */
  readonly others: readonly string[];
  /** Changes the restored store before it is put in place. */
  readonly prepare: (engine: Engine, restored: RestoreResult) => Promise<void>;
  readonly progress?: Progress;
}

interface RestoreResult {
  /** The manifest of the backup that the restore began with. */
  readonly manifest: Manifest;
  /** The last commit, and when it was made (RFC 3339), or when the backup was made. */
  readonly position: number;
  readonly at: string;
  /** The number of commits from segments. */
  readonly replayed: number;
  /** One sentence for each accepted loss. */
  readonly missing: readonly string[];
  /** One sentence for each file that is damaged or missing at the target, and was not needed. */
  readonly notes: readonly string[];
}

/**
 * Puts a backup, and the commits of the segments after it, into an empty data folder. The folder has no store, even after a kill, until the
 * checksums and the content are verified and the store is prepared. Throws SettingsError if there is no such backup or the folder is not
 * empty, and BackupFailed if something is damaged or missing, or it is unclear which store or moment is meant.
 */
export async function restoreBackup(
  target: BackupTarget,
  folder: string,
  { others, prepare, progress, acceptsMissing = false, ...wanted }: RestoreOptions,
): Promise<RestoreResult> {
  checkIsEmpty(folder, others);
  const now = Date.now();
  const losses = new Losses(target, acceptsMissing);
  const plan = await planRestore(target, wanted, now);
  for (const problem of plan.problems) losses.add(new BackupFailed('backup_damaged', problem));
  const draft = restoreDraft(folder);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  // From here on no service starts in the folder, even after a power cut (`openLmdbEngine`).
  for (const path of [folder, dirname(folder)]) flush(path);
  try {
    const copy = storeFile(draft);
    const base = await placeBase(target, plan, copy, losses);
    const end = { at: wanted.at ?? Infinity, position: wanted.position ?? Infinity, now };
    const walk = new Walk(target, base, wanted.name === undefined ? plan.segments : [], end);
    await replay(copy, walk, losses);
    if (wanted.name === undefined && !walk.isComplete)
      for (const loss of lossesAtEnd(plan, { base, reached: walk.reached, end })) losses.add(loss);
    const { problems } = await verifyStore(copy, progress);
    if (problems.length > 0)
      throw new DamagedStoreError(problems.map((problem) => `${base.name}: ${problem}`));
    await renewStoreId(copy);
    const engine = openLmdbEngine(draft);
    const replayed = walk.reached.position - base.position;
    const found = { manifest: base, ...walk.reached, replayed };
    const restored: RestoreResult = { ...found, missing: losses.accepted, notes: plan.notes };
    await prepare(engine, restored).finally(() => engine.close());
    flush(copy);
    putInPlace(copy, storeFile(folder));
    return restored;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** The losses of a restore, if the operator accepts losses. */
class Losses {
  readonly #target: BackupTarget;
  readonly #isAccepting: boolean;
  readonly accepted: string[] = [];

  constructor(target: BackupTarget, isAccepting: boolean) {
    this.#target = target;
    this.#isAccepting = isAccepting;
  }

  /** Throws the loss unless losses are accepted. */
  add(loss: BackupFailed): void {
    const { code, message } = loss;
    if (this.#isAccepting && code !== 'times_ambiguous') this.accepted.push(message);
    else throw new BackupFailed(code, `${this.#target.name}: ${message}${hintFor(code)}`, loss);
  }
}

function hintFor(code: BackupFailure): string {
  return code === 'times_ambiguous'
    ? ''
    : '; restore with --accept-missing for the last state before what is missing';
}

/** Downloads backups until one is whole. @returns its manifest */
async function placeBase(
  target: BackupTarget,
  { bases }: Plan,
  copy: string,
  losses: Losses,
): Promise<Manifest> {
  for (const base of bases) {
    const problem = await download(target, base, copy);
    if (problem === undefined) return base;
    const loss = new BackupFailed('backup_damaged', `${base.name}: ${problem}`);
    if (bases.at(-1) === base) throw new BackupFailed(loss.code, `${loss.message}; restore another backup`);
    losses.add(loss);
    rmSync(copy, { force: true });
    rmSync(`${copy}-lock`, { force: true });
  }
  throw new Error('a plan has a backup');
}

/** Downloads a backup. @returns what is wrong with it; undefined if nothing is */
async function download(target: BackupTarget, manifest: Manifest, copy: string): Promise<string | undefined> {
  const bytes = await target.get(manifest.file);
  if (bytes === undefined) return `its file has gone from ${target.name}`;
  if ((await writeChecked(bytes, copy)) !== manifest.sha256)
    return 'its file has another checksum than its manifest';
  const { position, store_id } = await describeContent(copy);
  return store_id !== manifest.store_id || position !== manifest.position
    ? 'its file is of another backup than its manifest'
    : undefined;
}

/** Replays the commits of the segments. */
async function replay(copy: string, walk: Walk, losses: Losses): Promise<void> {
  const store = new Replay(copy);
  try {
    for await (const { commits, size } of walk.commits()) store.add(commits, size);
  } catch (error) {
    await keepReplayed(store, error, losses);
  }
  await store.finish();
}

/** Closes the store and rethrows, unless the loss is accepted. */
async function keepReplayed(store: Replay, error: unknown, losses: Losses): Promise<void> {
  try {
    if (!(error instanceof BackupFailed) || !isLoss(error)) throw error;
    losses.add(error);
  } catch (failure) {
    await store.close();
    throw failure;
  }
}

/** Whether an error is a loss. A target that cannot be reached may have everything. */
function isLoss({ code }: BackupFailed): boolean {
  return code === 'segments_missing' || code === 'segment_damaged' || code === 'times_ambiguous';
}

function checkIsEmpty(folder: string, others: readonly string[]): void {
  const found = existsSync(folder) ? readdirSync(folder) : [];
  const [first] = found.filter(
    (name) => join(folder, name) !== restoreDraft(folder) && !others.includes(name),
  );
  if (first !== undefined)
    throw new SettingsError([
      `data (COUNTERFOIL_DATA): ${folder} is not empty (${first}); restore into an empty folder`,
    ]);
}

/** Characters of changes that a restore applies in one transaction: enough to rewrite each leaf seldom. */
const replaySizeMax = 32 * 1024 * 1024;

/** Makes the commits of segments in a store that nobody else has open. Few transactions are enough, because a killed restore starts over. */
export class Replay {
  readonly #store: Store;
  readonly #memtable: Memtable;
  readonly #compaction: Compaction;
  #waiting: CommitLine[] = [];
  #waitingSize = 0;

  constructor(file: string) {
    this.#store = openStore(file);
    this.#memtable = new Memtable(this.#store);
    this.#compaction = new Compaction(this.#store, this.#memtable);
    // The marks of continuous backup belong to the store that was backed up.
    this.#store.write(() => {
      writeArchiveMark(this.#store, undefined);
      clearLease(this.#store);
      clearFailure(this.#store);
    });
  }

  /** @param commits the next commits, in order; @param size about how many characters they have */
  add(commits: readonly CommitLine[], size: number): void {
    // One by one, because a call takes a limited number of arguments.
    for (const commit of commits) this.#waiting.push(commit);
    this.#waitingSize += size;
    if (this.#waitingSize >= replaySizeMax) this.#make();
  }

  /** Makes the remaining commits, and closes the store. */
  async finish(): Promise<void> {
    if (this.#waiting.length > 0) this.#make();
    await this.close();
  }

  async close(): Promise<void> {
    this.#waiting = [];
    await this.#store.close();
  }

  #make(): void {
    const commits = this.#waiting;
    this.#waiting = [];
    this.#waitingSize = 0;
    this.#store.write(() => {
      this.#memtable.catchUp();
      let lastAt = 0;
      for (const [commit, at, spaces] of commits) {
        this.#memtable.append(commit, 0, 0);
        this.#memtable.apply(commit, spaces);
        lastAt = at;
      }
      this.#compaction.begin();
      this.#compaction.step(Infinity);
      // All of them are in the leaves. An entry keeps the number of the last commit.
      const { last } = this.#memtable;
      appendEntry(this.#store, last, { first: last, spaces: '[]', at: lastAt });
    });
  }
}
