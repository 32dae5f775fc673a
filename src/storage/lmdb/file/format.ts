import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fstatSync, ftruncateSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { crc32 } from 'node:zlib';
import type { RootDatabase } from 'lmdb';
import { flush, writeFlushed } from '../../../durable-files.ts';
import { DamagedStoreError, SettingsError } from '../../../errors.ts';
import { type FileIdentity, identityOf, isFile } from './file-identity.ts';
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

/** Beside a store that is being made, so that an empty file is known to be the rest of an interrupted first start. */
const makingFile = (file: string) => `${file}-making`;

/** Notes that a store is about to be made, if there is none. Call it before LMDB makes the file, while no other process can. */
export function noteMaking(file: string): void {
  if (existsSync(file)) return;
  writeFlushed(makingFile(file), Buffer.alloc(0));
  flush(dirname(file));
}

/** Call it when the store has its format. */
export function endMaking(file: string): void {
  rmSync(makingFile(file), { force: true });
}

/** What is wrong with a file without content: a store that was made has some. Undefined after an interrupted first start. */
export function emptyProblem(file: string): string | undefined {
  if (!existsSync(file) || existsSync(makingFile(file))) return undefined;
  return 'is empty: what it held is lost, unless it was only being made';
}

const lmdbVersion = 2;

/**
 * Throws SettingsError or DamagedStoreError for a file that is not LMDB's, or of another version of it.
 *
 * @returns whether the file is still empty, as after an interrupted first start
 */
export function checkFile(file: string): { readonly isEmpty: boolean } {
  if (!existsSync(file)) return { isEmpty: true };
  if (statSync(file).size === 0) return { isEmpty: true };
  const head = withFile(file, readHead);
  if (head === undefined) throw damage(file, 'is damaged at its beginning, or is not a store of Counterfoil');
  if (head.version !== lmdbVersion) throw problem(file, `is of another version of LMDB (${head.version})`);
  return { isEmpty: head.mainRoot === undefined };
}

/** A file, and its last transaction: what that transaction left is not changed as long as it is the last one. */
interface State extends FileIdentity {
  readonly transaction: bigint | undefined;
}

/**
 * Does what `checkStructure` does while others may write, so that they need not wait for it: reading a large file from a disk takes
 * seconds.
 *
 * @returns the state that was found whole; undefined when a problem was found, which writes may have caused
 */
export function wholeState(file: string): State | undefined {
  if (!existsSync(file)) return undefined;
  const state = stateOf(file);
  return problemOfStructure(file) === undefined ? state : undefined;
}

/**
 * Checks the pages of a file and their order (`structureProblem`): LMDB crashes the process on a file that is too short, or whose trees
 * lead nowhere. Throws DamagedStoreError. Call it while nothing can write.
 *
 * @param whole need not be checked again
 */
export function checkStructure(file: string, whole?: State): void {
  if (!existsSync(file) || (whole !== undefined && isDeepStrictEqual(stateOf(file), whole))) return;
  const found = problemOfStructure(file);
  if (found !== undefined) throw damage(file, `is damaged: ${found}`);
}

function stateOf(file: string): State {
  return { ...identityOf(file), transaction: withFile(file, readHead)?.transaction };
}

function problemOfStructure(file: string): string | undefined {
  return withFile(file, (descriptor) =>
    fstatSync(descriptor).size === 0 ? undefined : structureProblem(descriptor),
  );
}

function withFile<Result>(file: string, read: (descriptor: number) => Result): Result {
  const descriptor = openSync(file, 'r');
  try {
    return read(descriptor);
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
