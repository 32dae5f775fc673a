import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Files that survive a power cut once a call has returned. */

/** Flushes a file or a folder. */
export function flush(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Renames a flushed file within a file system, and flushes the folder that it moves to. */
export function putInPlace(from: string, to: string): void {
  renameSync(from, to);
  flush(dirname(to));
}

/** Writes a small file that only its owner can read, and flushes it. */
export function writeFlushed(path: string, bytes: Uint8Array): void {
  writeFileSync(path, bytes, { mode: 0o600 });
  flush(path);
}

/** The name of a folder for unfinished files ends with the id of the process that writes them. */
const pattern = /^unfinished-(\d+)$/;

/** The draft folder of this process. */
export function draftFolder(folder: string): string {
  return join(folder, `unfinished-${process.pid}`);
}

/**
 * Removes the draft folders of ended processes. A folder with the id of this process is from an earlier container, in which
 * another process had that id.
 */
export function removeDeadDrafts(folder: string): void {
  rmSync(draftFolder(folder), { recursive: true, force: true });
  for (const { path, pid } of draftsOfOthers(folder))
    if (!isAlive(pid)) rmSync(path, { recursive: true, force: true });
}

/** Whether another live process has a draft folder. */
export function hasLiveDrafts(folder: string): boolean {
  return draftsOfOthers(folder).some(({ pid }) => isAlive(pid));
}

function draftsOfOthers(folder: string): readonly { readonly path: string; readonly pid: number }[] {
  return readdirSync(folder).flatMap((file) => {
    const pid = Number(pattern.exec(file)?.[1] ?? process.pid);
    return pid === process.pid ? [] : { path: join(folder, file), pid };
  });
}

/** Whether a process of this machine is running. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
