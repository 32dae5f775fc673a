import { createHash, createSecretKey, type KeyObject } from 'node:crypto';
import { SettingsError } from '../errors.ts';

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

export function keyText({ key }: MasterKey): string {
  return key.export().toString('base64');
}
