import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { flush } from './files.ts';
import { dataFile, type Manifest, manifestFile, nameOf, readManifest } from './manifest.ts';

/** The folder with the backups. Files in it that are not named as ours are left alone. */

const draftPattern = /^unfinished-(\d+)$/;

/** Where a process writes a backup before it counts. */
export function draftFolder(target: string, pid = process.pid): string {
  return join(target, `unfinished-${pid}`);
}

/** The backups, the oldest first. Throws if the folder cannot be read. */
export function backupsIn(target: string): readonly Manifest[] {
  const names = new Set(readdirSync(target).flatMap((file) => nameOf(file) ?? []));
  return [...names].sort().flatMap((name) => readManifest(target, name) ?? []);
}

/**
 * Removes what killed commands have left. A file with a manifest stays, also if this version cannot read the manifest: it may be
 * the backup of a later one.
 */
export function tidy(target: string): void {
  const files = readdirSync(target);
  const all = new Set(files);
  for (const file of files) {
    const name = nameOf(file);
    const pid = draftPattern.exec(file)?.[1];
    if (name !== undefined && !all.has(manifestFile(name))) rmSync(join(target, file), { force: true });
    // A process of an earlier container may have had the id of this one.
    if (pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid))))
      rmSync(join(target, file), { recursive: true, force: true });
  }
}

/** Deletes the oldest backups beyond this number. @returns the names of the deleted ones */
export function keepNewest(target: string, keep: number): readonly string[] {
  const old = backupsIn(target).slice(0, -keep);
  for (const { name } of old) {
    // Without its manifest it is no backup any more, whatever happens next.
    rmSync(join(target, manifestFile(name)), { force: true });
    flush(target);
    rmSync(join(target, dataFile(name)), { force: true });
  }
  return old.map(({ name }) => name);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
