import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { SettingsError } from '../errors.ts';

/**
 * Locks a key file for a change. Without the lock, two processes that read, change and write the file at once could lose
 * a key. Each process creates its own lock file and then looks for others, so at least one of two sees the other.
 *
 * Throws SettingsError when another process holds the lock. Removes the lock files and key drafts of killed processes.
 *
 * @returns a function that releases the lock
 */
export function lockKeyFile(keyFile: string): () => void {
  const folder = dirname(keyFile);
  const own = `${basename(keyFile)}.lock-${encodeURIComponent(hostname())}-${process.pid}`;
  writeFileSync(join(folder, own), '', { mode: 0o600 });
  const unlock = () => rmSync(join(folder, own), { force: true });
  for (const name of readdirSync(folder)) {
    if (name === own || !isLockOrDraft(name, basename(keyFile))) continue;
    if (!isAlive(name)) {
      rmSync(join(folder, name), { force: true });
    } else if (name.includes('.lock-')) {
      unlock();
      throw new SettingsError([
        `${join(folder, name)}: another command is changing the master keys; when there is none, remove this file`,
      ]);
    }
  }
  return unlock;
}

function isLockOrDraft(name: string, keyFile: string): boolean {
  return name.startsWith(`${keyFile}.`) && /^(lock-.+-)?\d+$/.test(name.slice(keyFile.length + 1));
}

/** A process on another machine or in another container cannot be checked, and counts as alive. */
function isAlive(name: string): boolean {
  const host = /\.lock-(.+)-\d+$/.exec(name)?.[1];
  if (host !== undefined && host !== encodeURIComponent(hostname())) return true;
  const pid = Number(/(\d+)$/.exec(name)?.[1]);
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
