import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Folders in which processes write what is not finished; each has the id of its process in its name. */
const pattern = /^unfinished-(\d+)$/;

/** The one of this process. */
export function draftsOf(folder: string): string {
  return join(folder, `unfinished-${process.pid}`);
}

/** Removes those of processes that are no more. One of this process is from an earlier container, in which a process had its id. */
export function removeDeadDrafts(folder: string): void {
  rmSync(draftsOf(folder), { recursive: true, force: true });
  for (const { path, pid } of draftsOfOthers(folder))
    if (!isAlive(pid)) rmSync(path, { recursive: true, force: true });
}

/** Whether another process that is alive has one. */
export function hasLiveDrafts(folder: string): boolean {
  return draftsOfOthers(folder).some(({ pid }) => isAlive(pid));
}

function draftsOfOthers(folder: string): readonly { readonly path: string; readonly pid: number }[] {
  return readdirSync(folder).flatMap((file) => {
    const pid = Number(pattern.exec(file)?.[1] ?? process.pid);
    return pid === process.pid ? [] : { path: join(folder, file), pid };
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
