import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import type { RootDatabase } from 'lmdb';
import { SettingsError } from '../../errors.ts';

/** What a store's file says about itself, under `formatKey` in the environment's main database. */
export interface Format {
  readonly format: typeof formatVersion;
  /** Drawn when the store was made: tells apart the same version numbers of two stores. */
  readonly id: string;
}

/** Grows when a newer service writes what an older one would not understand. */
const formatVersion = 2;
const formatKey = 'counterfoil';

/**
 * The format of an open store; a new one is given its own. Nothing may be written before: the file may be somebody
 * else's. Throws SettingsError.
 *
 * @param isEmpty as `checkFile` found it
 */
export function formatOf(file: string, root: RootDatabase<string, string>, isEmpty: boolean): Format {
  // Another process may be making the store at the same time.
  const text = root.get(formatKey) ?? (isEmpty ? root.transactionSync(() => makeFormat(root)) : undefined);
  const found = text === undefined ? undefined : (JSON.parse(text) as { format: unknown; id: string });
  if (found?.format === formatVersion) return found as Format;
  void root.close();
  throw refusal(file, found === undefined ? 'is not a store of Counterfoil' : otherVersion(found.format));
}

function makeFormat(root: RootDatabase<string, string>): string {
  const made = root.get(formatKey);
  if (made !== undefined) return made;
  const format: Format = { format: formatVersion, id: randomBytes(4).toString('hex') };
  root.putSync(formatKey, JSON.stringify(format));
  return JSON.stringify(format);
}

const pageBytes = 4096;
/** Places in a meta page, as in LMDB's mdb.c: page header, then struct MDB_meta. */
const at = { magic: 24, version: 28, mainRoot: 136, lastPage: 144, transaction: 152 };
const lmdbMagic = 0xbeefc0de;
const lmdbVersion = 2;
const noPage = 0xffff_ffff_ffff_ffffn;

/**
 * Refuses a file that LMDB should not touch: it would end the process on a file that is too short. Throws
 * SettingsError.
 *
 * @returns whether there is nothing in it yet, as after a first start that was cut short
 */
export function checkFile(file: string): { readonly isEmpty: boolean } {
  if (!existsSync(file)) return { isEmpty: true };
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    if (size === 0) return { isEmpty: true };
    const head = Buffer.alloc(2 * pageBytes);
    const bytes = readSync(descriptor, head, 0, head.length, 0);
    if (bytes < at.version + 4 || head.readUInt32LE(at.magic) !== lmdbMagic) {
      throw refusal(file, 'is not a store of Counterfoil');
    }
    if (head.readUInt32LE(at.version) !== lmdbVersion) {
      throw refusal(file, `is of another version of LMDB (${head.readUInt32LE(at.version)})`);
    }
    if (bytes < head.length) throw refusal(file, 'is damaged: it ends within its first pages');
    const meta = newestMeta(head);
    const lastPage = Number(meta.readBigUInt64LE(at.lastPage));
    if (size < (lastPage + 1) * pageBytes) {
      throw refusal(
        file,
        `is damaged: it should have ${lastPage + 1} pages, and ends after ${Math.floor(size / pageBytes)}`,
      );
    }
    return { isEmpty: meta.readBigUInt64LE(at.mainRoot) === noPage };
  } finally {
    closeSync(descriptor);
  }
}

function newestMeta(head: Buffer): Buffer {
  const [first, second] = [head.subarray(0, pageBytes), head.subarray(pageBytes)];
  return first.readBigUInt64LE(at.transaction) > second.readBigUInt64LE(at.transaction) ? first : second;
}

function otherVersion(version: unknown): string {
  return typeof version === 'number' && version > formatVersion
    ? `was written by a newer version of Counterfoil (format ${version}; this one knows ${formatVersion})`
    : `has a format that this version does not know (${String(version)})`;
}

function refusal(file: string, what: string): SettingsError {
  return new SettingsError([`data (COUNTERFOIL_DATA): ${file} ${what}; it was left as it is`]);
}
