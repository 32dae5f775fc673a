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
import { parseJson } from './databases.ts';
import { structureProblem } from './page-check.ts';
import { pageBytes, readHead } from './pages.ts';

/** The store's description of itself. It is under `formatKey` in the environment's main database. */
export interface Format {
  readonly format: typeof formatVersion;
  /** Random, chosen when the store is created, copied or restored. It distinguishes equal version numbers of two stores. */
  readonly id: string;
  /** The file that has this id. The same content in another file is a copy. */
  readonly file: FileIdentity;
}

/** The only supported format. It increases when a newer service writes data that an older one cannot read. */
const formatVersion = 3;
export const formatKey = 'counterfoil';

/** The state of a store before it was opened. */
interface FoundStore {
  /** The result of `checkFile`. */
  readonly isEmpty: boolean;
  readonly readOnly: boolean;
}

/**
 * Reads the format of an open store, or writes it to a new one. A store in another file than before gets a new id. Write nothing
 * before this check: the file may belong to another program. Throws SettingsError for another format, and DamagedStoreError.
 */
export function readOrMakeFormat(
  file: string,
  root: RootDatabase<string, string>,
  { isEmpty, readOnly }: FoundStore,
): Format {
  if (isEmpty && root.get(formatKey) === undefined) return root.transactionSync(() => makeFormat(file, root));
  const format = readFormat(file, root);
  if (readOnly || isFile(file, format.file)) return format;
  return root.transactionSync(() => makeFormat(file, root));
}

/** Reads the format of an open store. Throws SettingsError or DamagedStoreError. */
function readFormat(file: string, root: RootDatabase<string, string>): Format {
  const found = parseDescription(root.get(formatKey) ?? '');
  if (found === undefined) throw damage(file, 'is damaged, or is not a store of Counterfoil');
  const { checksum, ...format } = found;
  if (format.format !== formatVersion) throw formatProblem(file, otherVersion(format.format));
  if (checksum !== descriptionChecksum(format))
    throw damage(file, 'is damaged: the entry that describes it has a wrong checksum');
  return format as Format;
}

/** Throws SettingsError if the description names another format. Accepts a damaged description, because it may name this format. */
export function rejectOtherFormat(file: string, description: string): void {
  const { checksum, ...found } = parseDescription(description) ?? { format: formatVersion };
  const isWhole = checksum === undefined || checksum === descriptionChecksum(found);
  if (isWhole && found.format !== formatVersion) throw formatProblem(file, otherVersion(found.format));
}

interface Description extends Omit<Format, 'format'> {
  readonly format: unknown;
  readonly checksum?: unknown;
}

/** Undefined if the text is no description. */
function parseDescription(text: string): Description | undefined {
  return (parseJson(text) ?? undefined) as Description | undefined;
}

/** Writes the format. Call it within a write transaction, and only on a store of this format or an empty file. */
export function makeFormat(
  file: string,
  root: RootDatabase<string, string>,
  id = randomBytes(4).toString('hex'),
): Format {
  const format = { format: formatVersion, id, file: fileIdentity(file) } as const;
  root.putSync(formatKey, JSON.stringify({ ...format, checksum: descriptionChecksum(format) }));
  return format;
}

function descriptionChecksum(format: object): number {
  return crc32(JSON.stringify(format));
}

/** Marks a store that is being made: with this file beside it, an empty file is what an interrupted first start left. */
const makingFile = (file: string) => `${file}-making`;

/** Notes that a store is about to be made, if there is none. Call it before LMDB makes the file, and while no other process can. */
export function noteMaking(file: string): void {
  if (existsSync(file)) return;
  writeFlushed(makingFile(file), Buffer.alloc(0));
  flush(dirname(file));
}

/** Call it when the store has its format. */
export function endMaking(file: string): void {
  rmSync(makingFile(file), { force: true });
}

/** What is wrong with an empty file: a finished store has content. Undefined after an interrupted first start. */
export function emptyProblem(file: string): string | undefined {
  if (!existsSync(file) || existsSync(makingFile(file))) return undefined;
  return 'is empty: what it held is lost, unless it was only being made';
}

const lmdbVersion = 2;

/**
 * Throws SettingsError or DamagedStoreError for a file that is not LMDB's, or of another version of it.
 *
 * @returns whether the file is empty, as after an interrupted first start
 */
export function checkFile(file: string): { readonly isEmpty: boolean } {
  if (!existsSync(file)) return { isEmpty: true };
  if (statSync(file).size === 0) return { isEmpty: true };
  const head = withFile(file, readHead);
  if (head === undefined) throw damage(file, 'is damaged at its beginning, or is not a store of Counterfoil');
  if (head.version !== lmdbVersion)
    throw formatProblem(file, `is of another version of LMDB (${head.version})`);
  return { isEmpty: head.main.root === undefined };
}

/** A file and its last transaction. The content does not change as long as this transaction is the last one. */
interface State extends FileIdentity {
  readonly transaction: bigint | undefined;
}

/**
 * Makes the check of `checkStructure` while others may write, so that they need not wait for it: reading a large file from a disk
 * takes seconds.
 *
 * @returns the state that was found whole; undefined if there is a problem, which concurrent writes may have caused
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
 * @param whole a state that was found whole, and is not checked again
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
 * Extends a file that lacks its last, free pages to its full length. That uses no disk space. Call it while nothing can write.
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

function formatProblem(file: string, what: string): SettingsError {
  return new SettingsError([describeFile(file, what)]);
}

/** The error for a damaged file. */
export function damage(file: string, what: string): DamagedStoreError {
  return new DamagedStoreError([describeFile(file, what)]);
}

function describeFile(file: string, what: string): string {
  return `data (COUNTERFOIL_DATA): ${file} ${what}; the file was not changed`;
}

/** Identifies the file of a store. The store notes it, so that a copy, which is another file, is recognized. */
interface FileIdentity {
  readonly inode: string;
  /** Nanoseconds since 1970. The time of the last change where the file system keeps no time of birth. */
  readonly bornAt: string;
}

function fileIdentity(file: string): FileIdentity {
  const { ino, birthtimeNs } = statSync(file, { bigint: true });
  return { inode: String(ino), bornAt: String(birthtimeNs) };
}

/** Compares the time of birth too, where the file system keeps it: an inode is reused after its file was removed. */
export function isFile(file: string, noted: FileIdentity): boolean {
  const { inode, bornAt } = fileIdentity(file);
  return inode === noted.inode && (bornAt === noted.bornAt || !keepsBirth(file));
}

/** Node.js reports the last change for a missing time of birth. Then setting the file's mode, even to the same value, moves it. */
function keepsBirth(file: string): boolean {
  const before = statSync(file, { bigint: true });
  if (before.birthtimeNs !== before.ctimeNs) return true;
  chmodSync(file, Number(before.mode & 0o7777n));
  return statSync(file, { bigint: true }).birthtimeNs === before.birthtimeNs;
}
