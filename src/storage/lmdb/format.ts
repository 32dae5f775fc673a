import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fstatSync, ftruncateSync, openSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { RootDatabase } from 'lmdb';
import { DamagedStoreError, SettingsError } from '../../errors.ts';
import { type FileIdentity, identityOf, isFile } from './file-identity.ts';
import { transactionByLockFile } from './last-commit.ts';
import { structureProblem } from './page-check.ts';
import { pageBytes, readHead } from './pages.ts';

/** The store's description of itself, under `formatKey` in the environment's main database. */
export interface Format {
  readonly format: typeof formatVersion | typeof formatWithoutChecksums;
  /** Random, chosen when the store is created, copied or restored: distinguishes the same version number in two stores. */
  readonly id: string;
  /** The file that has this id; undefined in a store that was not opened since it notes this. */
  readonly file?: FileIdentity | undefined;
  /** While an upgrade from the format before is under way: the last leaf that has its checksum. */
  readonly upgradedTo?: string | undefined;
}

/** Increases when a newer service writes data that an older one cannot read. */
export const formatVersion = 3;
/** The format before: leaves, entries of the journal and records have no checksums. `upgradeStore` adds them. */
export const formatWithoutChecksums = 2;
export const formatKey = 'counterfoil';

/** The store is of the format before, or on the way from it: `upgradeStore` brings it to this one. */
export class UpgradeNeeded extends SettingsError {}

/** How a store was found before it was opened. */
export interface Found {
  /** As `checkFile` found it. */
  readonly isEmpty: boolean;
  readonly readOnly: boolean;
}

/**
 * Reads the format of an open store, or writes it to a new one. A store whose file is another one than before gets a new id. Nothing may
 * be written before this check: the file may belong to another program. Throws SettingsError, DamagedStoreError, and UpgradeNeeded;
 * a store of the format before can be opened to be read.
 */
export function formatOf(
  file: string,
  root: RootDatabase<string, string>,
  { isEmpty, readOnly }: Found,
): Format {
  if (isEmpty && root.get(formatKey) === undefined) return root.transactionSync(() => makeFormat(file, root));
  const format = readFormat(file, root);
  if (format.upgradedTo !== undefined)
    throw new UpgradeNeeded([line(file, 'was upgraded halfway: start the service, which completes it')]);
  if (readOnly) return format;
  if (format.format === formatWithoutChecksums)
    throw new UpgradeNeeded([
      line(file, `is of format ${format.format}: start the service, which upgrades it`),
    ]);
  const isCopied = format.file !== undefined && !isFile(file, format.file);
  if (isCopied || format.file === undefined)
    return root.transactionSync(() => makeFormat(file, root, isCopied ? newId() : format.id));
  return format;
}

/** The format of an open store, of this version or the one before. Throws SettingsError or DamagedStoreError. */
export function readFormat(file: string, root: RootDatabase<string, string>): Format {
  const found = parsed(root.get(formatKey));
  if (found === undefined) throw damage(file, 'is damaged, or is not a store of Counterfoil');
  const { checksum, ...format } = found;
  if (format.format === formatWithoutChecksums && checksum === undefined) return format as Format;
  const isOther = format.format !== formatVersion && format.format !== formatWithoutChecksums;
  if (isOther) throw problem(file, otherVersion(format.format));
  if (checksum !== checksumOf(format as Format))
    throw damage(file, 'is damaged: the entry that describes it has a wrong checksum');
  return format as Format;
}

function parsed(text: string | undefined): (Omit<Format, 'format'> & Described) | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) ?? undefined);
  } catch {
    return undefined;
  }
}

interface Described {
  readonly format: unknown;
  readonly checksum?: unknown;
}

/** Writes the format. Call it within a write transaction, and only to a store of this version or an empty file. */
export function makeFormat(file: string, root: RootDatabase<string, string>, id = newId()): Format {
  return putFormat(root, { format: formatVersion, id, file: identityOf(file) });
}

/** Call it within a write transaction. */
export function putFormat(root: RootDatabase<string, string>, format: Format): Format {
  root.putSync(formatKey, JSON.stringify({ ...format, checksum: checksumOf(format) }));
  return format;
}

function checksumOf(format: Format): number {
  return crc32(JSON.stringify(format));
}

function newId(): string {
  return randomBytes(4).toString('hex');
}

const lmdbVersion = 2;

/**
 * Throws SettingsError or DamagedStoreError for a file that is not LMDB's, or of another version of it.
 *
 * @returns whether the file is still empty, as after an interrupted first start
 */
export function checkFile(file: string): { readonly isEmpty: boolean } {
  if (!existsSync(file)) return { isEmpty: true };
  const descriptor = openSync(file, 'r');
  try {
    if (fstatSync(descriptor).size === 0) return { isEmpty: true };
    const head = readHead(descriptor);
    if (head === undefined)
      throw damage(file, 'is damaged at its beginning, or is not a store of Counterfoil');
    if (head.version !== lmdbVersion) throw problem(file, `is of another version of LMDB (${head.version})`);
    return { isEmpty: head.mainRoot === undefined };
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Checks the pages of a file and their order (`structureProblem`): LMDB crashes the process on a file that is too short, or whose trees
 * lead nowhere. Throws DamagedStoreError. Call it while nothing can write.
 */
export function checkStructure(file: string): void {
  if (!existsSync(file)) return;
  const descriptor = openSync(file, 'r');
  try {
    const found =
      fstatSync(descriptor).size === 0
        ? undefined
        : structureProblem(descriptor, () => transactionByLockFile(file));
    if (found !== undefined) throw damage(file, `is damaged: ${found}`);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Extends a file that lacks its last, free pages to its full length, which uses no disk space. Call it while nothing can write.
 */
export function fillUp(file: string): void {
  const descriptor = openSync(file, 'r+');
  try {
    const head = readHead(descriptor);
    const bytes = (head?.pages ?? 0) * pageBytes;
    if (fstatSync(descriptor).size < bytes) ftruncateSync(descriptor, bytes);
  } finally {
    closeSync(descriptor);
  }
}

function otherVersion(version: unknown): string {
  return typeof version === 'number' && version > formatVersion
    ? `was written by a newer version of Counterfoil (format ${version}; this one supports ${formatVersion})`
    : `has a format that this version does not support (${String(version)})`;
}

function problem(file: string, what: string): SettingsError {
  return new SettingsError([line(file, what)]);
}

/** A damaged file, that was not changed. */
export function damage(file: string, what: string): DamagedStoreError {
  return new DamagedStoreError([line(file, what)]);
}

function line(file: string, what: string): string {
  return `data (COUNTERFOIL_DATA): ${file} ${what}; the file was not changed`;
}
