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
import {
  keyText,
  type MasterKey,
  type MasterKeys,
  masterKey,
  masterKeyBytes,
  parseKeys,
} from './master-keys.ts';

/** Beside the data folder, not in it, so that a copy of the data alone opens no secret. */
export function keyFileOf(dataFolder: string): string {
  return `${resolve(dataFolder)}.key`;
}

export function newMasterKey(): MasterKey {
  return masterKey(randomBytes(masterKeyBytes));
}

/** The keys of a file. Throws SettingsError when it can be read by others, or is no file of keys. */
export function readKeyFile(file: string): readonly MasterKey[] {
  if ((statSync(file).mode & 0o077) !== 0) {
    throw new SettingsError([`${file}: can be read by others; run: chmod 600 ${file}`]);
  }
  return parseKeys(readFileSync(file, 'utf8'), file);
}

/**
 * A file with one new key, unless another process has made it meanwhile: then that one holds. On disk before the
 * store notes it: a key that a power cut takes back would take the secrets along.
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

/** All keys of a file at once: whoever reads it has the keys of before or these. @param keys the writing one first */
export function replaceKeyFile(file: string, keys: readonly MasterKey[]): void {
  renameSync(writeDraft(file, keys), file);
  flushFolderOf(file);
}

function writeDraft(file: string, keys: readonly MasterKey[]): string {
  const draft = `${file}.${process.pid}`;
  // One that a killed process of the same number has left.
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
 * The keys of a file as it is now: a rotation changes it while the service runs. Whether it has changed is looked at
 * with every seal, which costs a microsecond or two, so that no process goes on under a key that is being retired.
 */
export class KeyFile implements MasterKeys {
  readonly #file: string;
  #keys: readonly MasterKey[];
  #version: string;

  /** Throws SettingsError as `readKeyFile` does. */
  constructor(file: string) {
    this.#file = file;
    // In this order: a file that changes in between is read again.
    this.#version = versionOf(file) ?? '';
    this.#keys = readKeyFile(file);
  }

  writing(): MasterKey {
    this.#refresh();
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

  /** A file that has gone or is damaged ends no running service: it keeps the keys it has. */
  #refresh(): void {
    const version = versionOf(this.#file);
    if (version === undefined || version === this.#version) return;
    try {
      this.#keys = readKeyFile(this.#file);
      this.#version = version;
    } catch {
      // `counterfoil doctor` says what is wrong with it; the next seal looks again.
    }
  }
}

/** Another one whenever the file has been replaced or written; undefined where there is none. */
function versionOf(file: string): string | undefined {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.ino} ${stat.ctimeNs} ${stat.mtimeNs} ${stat.size}`;
}
