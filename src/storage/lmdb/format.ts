import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fstatSync, ftruncateSync, openSync } from 'node:fs';
import type { RootDatabase } from 'lmdb';
import { SettingsError } from '../../errors.ts';
import { type Head, pageBytes, pagesNeeded, readHead } from './pages.ts';

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

const lmdbVersion = 2;

/** A process that writes meanwhile can make a whole file look short; then it is looked at again. */
const looksMax = 10;

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
    if (fstatSync(descriptor).size === 0) return { isEmpty: true };
    const head = readHead(descriptor);
    if (head === undefined)
      throw refusal(file, 'is not a store of Counterfoil, or is damaged at its beginning');
    if (head.version !== lmdbVersion) throw refusal(file, `is of another version of LMDB (${head.version})`);
    checkLength(file, descriptor, head);
    return { isEmpty: head.mainRoot === undefined };
  } finally {
    closeSync(descriptor);
  }
}

/** A file may lack its last pages when they are free. */
function checkLength(file: string, descriptor: number, first: Head): void {
  let head = first;
  for (let look = 1; ; look++) {
    const pages = Math.floor(fstatSync(descriptor).size / pageBytes);
    if (pages >= head.pages) return;
    const needed = pagesNeeded(descriptor, head);
    if (needed !== undefined && needed <= pages) return;
    const next = readHead(descriptor);
    const isStill = next?.transaction === head.transaction;
    if (isStill) throw refusal(file, `is damaged: it ends after ${pages} of ${needed ?? head.pages} pages`);
    // Somebody writes to it all the time, and so has it open without coming to grief.
    if (next === undefined || look === looksMax) return;
    head = next;
  }
}

/**
 * Gives a file that lacks its last pages, because they are free, its whole length, which takes no disk: the next start
 * then need not look which pages are in use. To be called while nobody can write.
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
    ? `was written by a newer version of Counterfoil (format ${version}; this one knows ${formatVersion})`
    : `has a format that this version does not know (${String(version)})`;
}

function refusal(file: string, what: string): SettingsError {
  return new SettingsError([`data (COUNTERFOIL_DATA): ${file} ${what}; it was left as it is`]);
}
