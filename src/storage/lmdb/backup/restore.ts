import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DamagedStoreError, SettingsError } from '../../../errors.ts';
import type { Engine } from '../../engine.ts';
import { openLmdbEngine, storeFile } from '../open.ts';
import { renewStoreId } from '../restored.ts';
import { type Progress, verifyStore } from '../verify.ts';
import { checksumOf, flush, putInPlace } from './files.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { backupsIn } from './target.ts';

export interface RestoreOptions {
  /** Names of files that the folder may hold: they belong to somebody else. */
  readonly others: readonly string[];
  /** Changes the restored store before it is put in place. */
  readonly prepare: (engine: Engine, manifest: Manifest) => Promise<void>;
  readonly progress?: Progress;
}

/** Within the data folder, so that the last step is a rename; a killed restore leaves it, and the next one removes it. */
const draftName = 'restoring';

/**
 * Puts a backup into an empty data folder. Until its checksum and content are proven and it is prepared, the folder has no store, whenever
 * the process is killed. Throws SettingsError if there is no such backup or the folder is not empty, DamagedStoreError if the backup is damaged.
 *
 * @param from a folder of backups, of which the newest is taken, or a backup within one
 */
export async function restoreBackup(
  from: string,
  folder: string,
  { others, prepare, progress }: RestoreOptions,
): Promise<Manifest> {
  const { target, manifest } = find(from);
  checkIsEmpty(folder, others);
  const draft = join(folder, draftName);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  try {
    const copy = storeFile(draft);
    if ((await checksumOf(join(target, manifest.file), copy)) !== manifest.sha256)
      throw new DamagedStoreError([`${manifest.name}: its file has another checksum than its manifest`]);
    const { problems } = await verifyStore(copy, progress);
    if (problems.length > 0)
      throw new DamagedStoreError(problems.map((problem) => `${manifest.name}: ${problem}`));
    await renewStoreId(copy);
    const engine = openLmdbEngine(draft);
    await prepare(engine, manifest).finally(() => engine.close());
    flush(copy);
    putInPlace(copy, storeFile(folder));
    return manifest;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function find(from: string): { readonly target: string; readonly manifest: Manifest } {
  const named = existsSync(dirname(from)) ? readManifest(dirname(from), basename(from)) : undefined;
  if (named !== undefined) return { target: dirname(from), manifest: named };
  const newest = existsSync(from) ? backupsIn(from).at(-1) : undefined;
  if (newest === undefined) throw new SettingsError([`${from}: there is no backup`]);
  return { target: from, manifest: newest };
}

function checkIsEmpty(folder: string, others: readonly string[]): void {
  const found = existsSync(folder) ? readdirSync(folder) : [];
  const [first] = found.filter((name) => name !== draftName && !others.includes(name));
  if (first !== undefined)
    throw new SettingsError([
      `data (COUNTERFOIL_DATA): ${folder} is not empty (${first}); restore into an empty folder`,
    ]);
}
