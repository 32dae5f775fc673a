import { createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
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

/** The key file is beside the data folder, not in it, so that a copy of the data alone opens no secret. */
export function keyFilePath(dataFolder: string): string {
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
  flushFolder(file);
}

/** Replaces all keys of a file atomically: readers see the old keys or the new ones. @param keys the writing key first */
export function replaceKeyFile(file: string, keys: readonly MasterKey[]): void {
  renameSync(writeDraft(file, keys), file);
  flushFolder(file);
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

function flushFolder(file: string): void {
  const folder = openSync(dirname(file), 'r');
  fsyncSync(folder);
  closeSync(folder);
}

/**
 * The current keys of a file, which a rotation changes while the service runs. Before it seals, a process checks whether the
 * file has changed, at most once in `keyFileLookMs`. So no process continues with a key that is being retired: `rotate`
 * waits longer than that before it rewraps.
 */
export class KeyFile implements MasterKeys {
  readonly #file: string;
  #keys: readonly MasterKey[];
  #version: string;
  readonly #monotonicMs: () => number;
  #lookedAtMs: number;

  /** Throws SettingsError as `readKeyFile` does. @param monotonicMs milliseconds of a monotonic clock */
  constructor(file: string, monotonicMs: () => number = () => performance.now()) {
    this.#file = file;
    this.#monotonicMs = monotonicMs;
    this.#lookedAtMs = monotonicMs();
    // The version comes first, so that a file that changes in between is read again.
    this.#version = fileVersion(file) ?? '';
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
    // Taken before the look, so that its result is never older than `keyFileLookMs`, however long the look takes.
    this.#lookedAtMs = this.#monotonicMs();
    const version = fileVersion(this.#file);
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
function fileVersion(file: string): string | undefined {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.ino} ${stat.ctimeNs} ${stat.mtimeNs} ${stat.size}`;
}

/** 256 bits, the key size of AES-256. */
export const masterKeyBytes = 32;

export interface MasterKey {
  /** Identifies the key and reveals nothing about it. */
  readonly id: string;
  /** Imported once: importing takes longer than encrypting a data key. */
  readonly key: KeyObject;
}

/** The master keys of a process: one seals, all open. */
export interface MasterKeys {
  /** The key that seals now. Keys from a file may be `keyFileLookMs` old. */
  writing(): MasterKey;
  /** Undefined when the key is not loaded, and reading the source again does not find it either. */
  find(id: string): MasterKey | undefined;
  /** As their source has them now, the writing key first. */
  all(): readonly MasterKey[];
}

/** @param bytes 32 random bytes */
export function masterKey(bytes: Buffer): MasterKey {
  if (bytes.length !== masterKeyBytes) throw new RangeError(`a master key has ${masterKeyBytes} bytes`);
  const digest = createHash('sha256').update('counterfoil master key').update(bytes).digest('hex');
  return { id: digest.slice(0, 16), key: createSecretKey(bytes) };
}

/** Keys that do not change while the process runs. @param keys at least one, the writing key first */
export function fixedKeys(keys: readonly MasterKey[]): MasterKeys {
  const [first] = keys;
  if (first === undefined) throw new RangeError('there is no master key');
  return {
    writing: () => first,
    find: (id) => keys.find((key) => key.id === id),
    all: () => keys,
  };
}

/**
 * Parses keys: each 32 bytes in base64, separated by line ends or commas. Throws SettingsError, which names the source
 * and never its content.
 */
export function parseKeys(text: string, source: string): readonly MasterKey[] {
  const texts = text.split(/[\n,]/).map((line) => line.trim());
  const keys = texts.filter((line) => line !== '').map((line) => parseKey(line, source));
  if (keys.length === 0) throw new SettingsError([`${source}: has no master key`]);
  if (new Set(keys.map(({ id }) => id)).size < keys.length) {
    throw new SettingsError([`${source}: has the same master key twice`]);
  }
  return keys;
}

function parseKey(text: string, source: string): MasterKey {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== masterKeyBytes || bytes.toString('base64') !== text) {
    throw new SettingsError([`${source}: each master key must be ${masterKeyBytes} bytes in base64`]);
  }
  return masterKey(bytes);
}

function keyText({ key }: MasterKey): string {
  return key.export().toString('base64');
}
