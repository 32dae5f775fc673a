import { crc32 } from 'node:zlib';
import type { Database, PutOptions, RangeOptions } from 'lmdb';
import { ServiceError } from '../../../errors.ts';
import { checkedAgainMs, checkedKeysMax } from '../limits.ts';

/** Converts a value to bytes and back. */
export interface Codec<Value> {
  readonly encode: (value: Value) => Buffer;
  readonly decode: (content: Buffer) => Value;
}

interface CheckedOptions<Value, Key extends string | number> {
  readonly codec: Codec<Value>;
  /** Names the value of a key. */
  readonly describe: (key: Key) => string;
  /** Names the value of a key for a log, without the id of an item. */
  readonly describeToLog: (key: Key) => string;
  /** Keys that need not be checked again; by default every read checks. */
  readonly recently?: RecentlyChecked;
  /** The same database without its checksums, for reads that check nothing. They are as fast as the library. */
  readonly contents?: Database<Value, Key>;
  /** Called with each damage that a read finds. */
  readonly damaged?: DamageFound | undefined;
}

/** @param problem one sentence, for a log */
export type DamageFound = (problem: string) => void;

/** A stored value differs from what was written: `internal`. The detail names the value, and holds nothing of its content. */
export class DamagedValueError extends ServiceError {
  /** @param problem one sentence, for a log */
  constructor(problem: string) {
    super('internal', { detail: `the store is damaged: ${problem}; run counterfoil verify` });
    this.name = 'DamagedValueError';
  }
}

export interface Reading {
  /** Checks every value, and remembers none: for values that will be written again, and for long reads. */
  readonly isAfresh?: boolean;
  /** Checks nothing: for a range that was checked a moment ago. */
  readonly isTrusted?: boolean;
}

/** A stored value, for a search for damage. */
interface Inspected<Key> {
  readonly key: Key;
  /** Valid until the next read of the same thread. */
  readonly content: Buffer;
  readonly isIntact: boolean;
}

/** A database of the store. Each value is written with a checksum, which is checked when the value is read. */
export class CheckedDatabase<Value, Key extends string | number> {
  readonly #database: Database<Buffer, Key>;
  readonly #options: CheckedOptions<Value, Key>;

  /** @param database with the library's own buffers as values */
  constructor(database: Database<Buffer, Key>, options: CheckedOptions<Value, Key>) {
    this.#database = database;
    this.#options = options;
  }

  /** Throws DamagedValueError. */
  get(key: Key): Value | undefined {
    const stored = this.#database.get(key);
    return stored === undefined ? undefined : this.#decode(key, stored);
  }

  /** Throws DamagedValueError at a damaged value. */
  getRange(options: RangeOptions, reading: Reading = {}): Iterable<{ key: Key; value: Value }> {
    const { contents } = this.#options;
    if (reading.isTrusted && contents !== undefined) return contents.getRange(options);
    return this.#database
      .getRange(options)
      .map(({ key, value }) => ({ key, value: this.#decode(key, value, reading) }));
  }

  /** Like `getRange`, but reports damage. */
  inspect(options: RangeOptions): Iterable<Inspected<Key>> {
    return this.#database.getRange(options).map(({ key, value }) => this.#inspectStored(key, value));
  }

  /** Stored values with their checksums, unchecked. A value is valid until the next read of the same thread. */
  getStored(options: RangeOptions): Iterable<{ key: Key; value: Buffer }> {
    return this.#database.getRange(options);
  }

  /** Appends a value that has its checksum. Its key must be greater than all existing keys. */
  putStored(key: Key, stored: Buffer): void {
    this.#database.putSync(key, stored, { append: true });
  }

  inspectOne(key: Key): Inspected<Key> | undefined {
    const stored = this.#database.get(key);
    return stored === undefined ? undefined : this.#inspectStored(key, stored);
  }

  getKeys(options: RangeOptions): Iterable<Key> {
    return this.#database.getKeys(options);
  }

  /** @returns false if the options forbid the write */
  putSync(key: Key, value: Value, options: PutOptions = {}): boolean {
    const { codec, recently } = this.#options;
    recently?.add(key);
    // The types of the library say void.
    return this.#database.putSync(key, sealed(key, codec.encode(value)), options) as unknown as boolean;
  }

  removeSync(key: Key): void {
    this.#database.removeSync(key);
  }

  getStats(): object {
    return this.#database.getStats();
  }

  describe(key: Key): string {
    return this.#options.describe(key);
  }

  #decode(key: Key, stored: Buffer, { isAfresh = false }: Reading = {}): Value {
    const { codec, recently } = this.#options;
    if (isAfresh || recently?.has(key) !== true) {
      if (!isIntact(key, stored)) throw this.#damageAt(key);
      if (!isAfresh) recently?.add(key);
    }
    return codec.decode(stripChecksum(stored));
  }

  #damageAt(key: Key): DamagedValueError {
    const problem = `${this.#options.describeToLog(key)} has a wrong checksum`;
    this.#options.damaged?.(problem);
    return new DamagedValueError(problem);
  }

  #inspectStored(key: Key, stored: Buffer): Inspected<Key> {
    return { key, content: stripChecksum(stored), isIntact: isIntact(key, stored) };
  }
}

/**
 * The keys or spaces that a thread has checked or written within the last minute, and does not check again. Checking a leaf takes as
 * long as copying it to a socket, and a page that the system has in memory does not decay.
 */
export class RecentlyChecked {
  readonly #keys = new Set<string | number>();
  #until = 0;

  has(key: string | number): boolean {
    return this.#keys.has(key) && performance.now() < this.#until;
  }

  add(key: string | number): void {
    const now = performance.now();
    if (now >= this.#until || this.#keys.size >= checkedKeysMax) {
      this.#keys.clear();
      this.#until = now + checkedAgainMs;
    }
    this.#keys.add(key);
  }
}

/**
 * Every value of the store ends with a CRC-32 of its key and its content, little-endian. The key is part of it, so that a misplaced
 * value is found too. docs/decisions/leaf-store.md says why this checksum was chosen.
 */
export const checksumBytes = 4;

/** The content with its checksum, in the stored form. */
export function sealed(key: string | number, content: Buffer): Buffer {
  const stored = Buffer.allocUnsafe(content.length + checksumBytes);
  content.copy(stored);
  stored.writeUInt32LE(checksum(key, content), content.length);
  return stored;
}

/** The content of a stored value, in the same memory. */
export function stripChecksum(stored: Buffer): Buffer {
  return stored.subarray(0, Math.max(0, stored.length - checksumBytes));
}

export function isIntact(key: string | number, stored: Buffer): boolean {
  if (stored.length < checksumBytes) return false;
  const content = stripChecksum(stored);
  return stored.readUInt32LE(content.length) === checksum(key, content);
}

/** Two keys of one length that differ in one byte never begin with the same number. */
function checksum(key: string | number, content: Buffer): number {
  return crc32(content, typeof key === 'string' ? crc32(key) : foldedTo32Bits(key));
}

/** Each bit of a commit's number counts; below 2^32 it is the number itself. */
function foldedTo32Bits(commit: number): number {
  return ((commit % 2 ** 32) ^ Math.floor(commit / 2 ** 32)) >>> 0;
}
