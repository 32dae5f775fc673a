import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { flush, putInPlace } from '../../../backup/files.ts';
import type { BackupTarget } from '../../../backup/target.ts';
import { DamagedStoreError, SettingsError } from '../../../errors.ts';
import type { Engine } from '../../engine.ts';
import { openLmdbEngine, restoreDraft, storeFile } from '../open.ts';
import { renewStoreId } from '../restored.ts';
import { type Progress, verifyStore } from '../verify.ts';
import { writeChecked } from './checksum.ts';
import type { Manifest } from './manifest.ts';
import { type Plan, planRestore, type Wanted } from './plan.ts';
import { Replay } from './replay.ts';
import { Walk } from './walk.ts';

export interface RestoreOptions extends Wanted {
  /** Names of files that the folder may hold: they belong to somebody else. */
  readonly others: readonly string[];
  /** Changes the restored store before it is put in place. */
  readonly prepare: (engine: Engine, restored: Restored) => Promise<void>;
  readonly progress?: Progress;
}

export interface Restored {
  /** Of the backup that it began with. */
  readonly manifest: Manifest;
  /** The last commit, and when it was made (RFC 3339), or when the backup was. */
  readonly position: number;
  readonly at: string;
  /** Commits from segments. */
  readonly replayed: number;
}

/**
 * Puts a backup, and the commits of the segments after it, into an empty data folder. Until its checksums and content are proven and it
 * is prepared, the folder has no store, whenever the process is killed. Throws SettingsError if there is no such backup or the folder
 * is not empty, DamagedStoreError if the backup is damaged, and BackupFailed if a segment is missing or damaged.
 */
export async function restoreBackup(
  target: BackupTarget,
  folder: string,
  { others, prepare, progress, ...wanted }: RestoreOptions,
): Promise<Restored> {
  checkIsEmpty(folder, others);
  const plan = await planRestore(target, wanted);
  const draft = restoreDraft(folder);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  // From here on no service starts in the folder, also after a power cut (`openLmdbEngine`).
  for (const path of [folder, dirname(folder)]) flush(path);
  try {
    const copy = storeFile(draft);
    await download(target, plan.manifest, copy);
    const restored = await replay(target, copy, plan, wanted.at);
    const { problems } = await verifyStore(copy, progress);
    if (problems.length > 0)
      throw new DamagedStoreError(problems.map((problem) => `${plan.manifest.name}: ${problem}`));
    await renewStoreId(copy);
    const engine = openLmdbEngine(draft);
    await prepare(engine, restored).finally(() => engine.close());
    flush(copy);
    putInPlace(copy, storeFile(folder));
    return restored;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function download(target: BackupTarget, { name, file, sha256 }: Manifest, copy: string): Promise<void> {
  const bytes = await target.get(file);
  if (bytes === undefined) throw new DamagedStoreError([`${name}: its file has gone from ${target.name}`]);
  if ((await writeChecked(bytes, copy)) !== sha256)
    throw new DamagedStoreError([`${name}: its file has another checksum than its manifest`]);
}

/** Makes the commits of the segments, up to a moment. */
async function replay(target: BackupTarget, copy: string, plan: Plan, until?: number): Promise<Restored> {
  const store = new Replay(copy);
  const walk = new Walk(target, plan, until);
  try {
    for await (const { commits, size } of walk.commits()) store.add(commits, size);
    await store.finish();
  } catch (error) {
    await store.close();
    throw error;
  }
  const { manifest } = plan;
  return { manifest, ...walk.reached, replayed: walk.reached.position - manifest.position };
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
