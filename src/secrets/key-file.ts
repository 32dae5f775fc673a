import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { SettingsError } from '../errors.ts';
import { keyFileLookMs } from './limits.ts';
import {
  keyText,
  type MasterKey,
  type MasterKeys,
  masterKey,
  masterKeyBytes,
  parseKeys,
} from './master-keys.ts';

/** The key file is beside the data folder, not in it, so that a copy of the data alone opens no secret. */
export function keyFileOf(dataFolder: string): string {
  return `${resolve(dataFolder)}.key`;
}

export function newMasterKey(): MasterKey {
  return masterKey(randomBytes(masterKeyBytes));
}

/** The keys of a file. Throws SettingsError when other users can read it, or it is not a key file. */
export function readKeyFile(file: string): readonly MasterKey[] {
  if ((statSync(file).mode & 0o077) !== 0) {
    throw new SettingsError([`${file}: other users can read it; run: chmod 600 ${file}`]);
  }
  return parseKeys(readFileSync(file, 'utf8'), file);
}

/**
 * Creates a file with one new key, unless another process has just created it. The file is on disk before the store
 * records the key: losing the key in a power cut would lose the secrets too.
 */
export function makeKeyFile(file: string): void {
  const draft = writeDraft(file, [newMasterKey()]);
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
  flushFolderOf(file);
}

/** Replaces all keys of a file atomically: readers see the old keys or the new ones. @param keys the writing key first */
export function replaceKeyFile(file: string, keys: readonly MasterKey[]): void {
  renameSync(writeDraft(file, keys), file);
  flushFolderOf(file);
}

/** When the file was last replaced, written or made readable to others, in milliseconds since 1970. */
export function keyFileChangedAt(file: string): number {
  return statSync(file).ctimeMs;
}

function writeDraft(file: string, keys: readonly MasterKey[]): string {
  const draft = `${file}.${process.pid}`;
  // A killed process with the same process id may have left a draft.
  rmSync(draft, { force: true });
  writeFileSync(draft, `${keys.map(keyText).join('\n')}\n`, { mode: 0o600, flush: true, flag: 'wx' });
  return draft;
}

function flushFolderOf(file: string): void {
  const folder = openSync(dirname(file), 'r');
  fsyncSync(folder);
  closeSync(folder);
}

/**
 * The current keys of a file, which a rotation changes while the service runs. Who seals looks whether the file has changed,
 * once in `keyFileLookMs` at most, so that no process continues with a key that is being retired: `rotate` waits longer
 * than that before it rewraps.
 */
export class KeyFile implements MasterKeys {
  readonly #file: string;
  #keys: readonly MasterKey[];
  #version: string;
  readonly #monotonicMs: () => number;
  #lookedAtMs: number;

  /** Throws SettingsError as `readKeyFile` does. @param monotonicMs milliseconds of a clock that nobody sets */
  constructor(file: string, monotonicMs: () => number = () => performance.now()) {
    this.#file = file;
    this.#monotonicMs = monotonicMs;
    this.#lookedAtMs = monotonicMs();
    // The version comes first, so that a file that changes in between is read again.
    this.#version = versionOf(file) ?? '';
    this.#keys = readKeyFile(file);
  }

  writing(): MasterKey {
    if (this.#monotonicMs() - this.#lookedAtMs >= keyFileLookMs) this.#refresh();
    return this.#keys[0] as MasterKey;
  }

  find(id: string): MasterKey | undefined {
    const known = this.#keys.find((key) => key.id === id);
    if (known !== undefined) return known;
    this.#refresh();
    return this.#keys.find((key) => key.id === id);
  }

  all(): readonly MasterKey[] {
    this.#refresh();
    return this.#keys;
  }

  /** When the file is missing or damaged, a running service continues with its loaded keys. */
  #refresh(): void {
    // The time is that before the look, however long it takes: what it finds is never older than `keyFileLookMs`.
    this.#lookedAtMs = this.#monotonicMs();
    const version = versionOf(this.#file);
    if (version === undefined || version === this.#version) return;
    try {
      this.#keys = readKeyFile(this.#file);
      this.#version = version;
    } catch {
      // `counterfoil doctor` reports the problem; the next look reads the file again.
    }
  }
}

/** Changes whenever the file is replaced or written; undefined when the file does not exist. */
function versionOf(file: string): string | undefined {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.ino} ${stat.ctimeNs} ${stat.mtimeNs} ${stat.size}`;
}
