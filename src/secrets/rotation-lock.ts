import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { SettingsError } from '../errors.ts';

/**
 * Held by whoever changes a key file: of two that read, change and write it at once, one would lose the other's key.
 * Each lays down a file of its own and then looks for others, so that of two at least one sees the other.
 *
 * Throws SettingsError when somebody else holds it. What a killed one has left is taken away, drafts of keys too.
 *
 * @returns lets go of it
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

/** One of another machine, or of another container, cannot be told, and counts as alive. */
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
