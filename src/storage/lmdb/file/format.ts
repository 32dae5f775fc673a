import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { crc32 } from 'node:zlib';
import type { RootDatabase } from 'lmdb';
import { flush, writeFlushed } from '../../../durable-files.ts';
import { DamagedStoreError, SettingsError } from '../../../errors.ts';
import { structureProblem } from './page-check.ts';
import { pageBytes, readHead } from './pages.ts';

/** The store's description of itself, under `formatKey` in the environment's main database. */
export interface Format {
  readonly format: typeof formatVersion;
  /** Random, chosen when the store is created, copied or restored: distinguishes the same version number in two stores. */
  readonly id: string;
  /** The file that has this id: the same content in another file is a copy. */
  readonly file: FileIdentity;
}

/** The only format that is read. It increases when a newer service writes data that an older one cannot read. */
const formatVersion = 3;
export const formatKey = 'counterfoil';

/** How a store was found before it was opened. */
interface Found {
  /** As `checkFile` found it. */
  readonly isEmpty: boolean;
  readonly readOnly: boolean;
}

/**
 * Reads the format of an open store, or writes it to a new one. A store whose file is another one than before gets a new id. Nothing may
 * be written before this check: the file may belong to another program. Throws SettingsError for another format, and DamagedStoreError.
 */
export function readOrMakeFormat(
  file: string,
  root: RootDatabase<string, string>,
  { isEmpty, readOnly }: Found,
): Format {
  if (isEmpty && root.get(formatKey) === undefined) return root.transactionSync(() => makeFormat(file, root));
  const format = readFormat(file, root);
  if (readOnly || isFile(file, format.file)) return format;
  return root.transactionSync(() => makeFormat(file, root));
}

/** The format of an open store. Throws SettingsError or DamagedStoreError. */
function readFormat(file: string, root: RootDatabase<string, string>): Format {
  const found = parsed(root.get(formatKey));
  if (found === undefined) throw damage(file, 'is damaged, or is not a store of Counterfoil');
  const { checksum, ...format } = found;
  if (format.format !== formatVersion) throw problem(file, otherVersion(format.format));
  if (checksum !== descriptionChecksum(format))
    throw damage(file, 'is damaged: the entry that describes it has a wrong checksum');
  return format as Format;
}

/** Throws SettingsError if a store describes itself as one of another format. A damaged description may be of this one. */
export function rejectOtherFormat(file: string, description: string): void {
  const { checksum, ...found } = parsed(description) ?? { format: formatVersion };
  const isWhole = checksum === undefined || checksum === descriptionChecksum(found);
  if (isWhole && found.format !== formatVersion) throw problem(file, otherVersion(found.format));
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

/** Writes the format. Call it within a write transaction, and only to a store of this format or an empty file. */
export function makeFormat(file: string, root: RootDatabase<string, string>, id = newId()): Format {
  const format = { format: formatVersion, id, file: fileIdentity(file) } as const;
  root.putSync(formatKey, JSON.stringify({ ...format, checksum: descriptionChecksum(format) }));
  return format;
}

function descriptionChecksum(format: object): number {
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
  const state = readState(file);
  return findStructureProblem(file) === undefined ? state : undefined;
}

/**
 * Checks the pages of a file and their order (`structureProblem`): LMDB crashes the process on a file that is too short, or whose trees
 * lead nowhere. Throws DamagedStoreError. Call it while nothing can write.
 *
 * @param whole need not be checked again
 */
export function checkStructure(file: string, whole?: State): void {
  if (!existsSync(file) || (whole !== undefined && isDeepStrictEqual(readState(file), whole))) return;
  const found = findStructureProblem(file);
  if (found !== undefined) throw damage(file, `is damaged: ${found}`);
}

function readState(file: string): State {
  return { ...fileIdentity(file), transaction: withFile(file, readHead)?.transaction };
}

function findStructureProblem(file: string): string | undefined {
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
  const other = `(format ${String(version)}; this one supports ${formatVersion})`;
  if (typeof version !== 'number') return `has a format that this version does not support ${other}`;
  return version > formatVersion
    ? `was written by a newer version of Counterfoil ${other}; use that version`
    : `was written by an older version of Counterfoil ${other}; use that version`;
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

/** Which file it is, as the store notes it: a copy of the store is another file, and says so. */
interface FileIdentity {
  readonly inode: string;
  /** Nanoseconds since 1970. Where the file system does not keep it, the time of the last change. */
  readonly bornAt: string;
}

function fileIdentity(file: string): FileIdentity {
  const { ino, birthtimeNs } = statSync(file, { bigint: true });
  return { inode: String(ino), bornAt: String(birthtimeNs) };
}

/** An inode is used again after its file was removed, so the time of birth counts too, where the file system keeps it. */
export function isFile(file: string, noted: FileIdentity): boolean {
  const { inode, bornAt } = fileIdentity(file);
  return inode === noted.inode && (bornAt === noted.bornAt || !keepsBirth(file));
}

/** Node.js reports the last change for a missing time of birth: then a change of the file's mode, even to the same one, moves it. */
function keepsBirth(file: string): boolean {
  const before = statSync(file, { bigint: true });
  if (before.birthtimeNs !== before.ctimeNs) return true;
  chmodSync(file, Number(before.mode & 0o7777n));
  return statSync(file, { bigint: true }).birthtimeNs === before.birthtimeNs;
}
