import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SettingsError } from '../errors.ts';
import type { Engine } from '../storage/engine.ts';
import { keyFileOf, newMasterKey, replaceKeyFile } from './key-file.ts';
import { type KeyNote, noteSealing, readKeyNotes } from './key-notes.ts';
import { keyFileTurnMs, rotationPassesMax } from './limits.ts';
import type { MasterKey, MasterKeys } from './master-keys.ts';
import { isKeyFile, type MasterKeySource } from './open-sealer.ts';
import { type Pass, rewrapAll } from './rewrap.ts';
import type { SealedRecords } from './sealed-records.ts';
import { Sealer } from './sealer.ts';

/** The dependencies of a rotation. The service may run in any number of processes meanwhile. */
export interface RotationParts {
  readonly engine: Engine;
  readonly source: MasterKeySource;
  /** Opened by `openMasterKeys`. */
  readonly keys: MasterKeys;
  readonly records: readonly SealedRecords[];
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called with each step, for the operator. */
  readonly report: (step: string) => void;
}

export interface Rotated {
  readonly keyId: string;
  /** Number of records with secrets that were moved to this key. */
  readonly rewrapped: number;
  /** One sentence for each secret that could not be rewrapped. */
  readonly problems: readonly string[];
  /** Whether the last pass found no secret under another key. */
  readonly isComplete: boolean;
  /** Keys that no longer seal and can be retired. */
  readonly retiring: readonly string[];
}

/**
 * Moves every secret to a new master key, step by step. After a kill at any step every secret still opens, and the next
 * call continues from there:
 *
 * 1. add the new key to the key file, readable: running processes load it when they first find a seal under it;
 * 2. record in the store that the new key seals, and that the others are retiring;
 * 3. put the new key first in the key file;
 * 4. wait until every process has looked at the file since: from now on all of them seal under the new key;
 * 5. rewrap every secret, until a complete pass finds none under another key.
 *
 * Why step 4 is long enough: the processes, workers too, share nothing but the file. Each notes the time, looks at the
 * file, and uses what it found for `keyFileLookMs` from the noted time. A look that found the old key first began before
 * the file was replaced, so nobody takes the old key, nor a data key under it, later than `keyFileLookMs` after that. A
 * process that starts reads the file first. What was sealed before and is written behind a pass is found by the next pass
 * or by `retire`. A call that follows a kill does not know when the file was replaced, so it waits, too.
 *
 * With keys from the settings or a command, the operator does steps 1 and 3. Throws SettingsError when they are not
 * done, or when another command is running.
 */
export async function rotate(parts: RotationParts): Promise<Rotated> {
  const unlock = lock(parts.source);
  try {
    const { id } = isKeyFile(parts.source) ? await rotateKeyFile(parts) : await rotateToFirstKey(parts);
    return await rewrapUntilDone(parts, id);
  } finally {
    unlock();
  }
}

/** Locks the key file. Keys from other sources need no lock, because only the operator changes them. */
export function lock(source: MasterKeySource): () => void {
  return isKeyFile(source) ? lockKeyFile(keyFileOf(source.dataFolder)) : () => undefined;
}

/** Steps 1 to 4, or the rest of them. */
async function rotateKeyFile({ engine, source, keys, now, report }: RotationParts): Promise<MasterKey> {
  const file = keyFileOf(source.dataFolder);
  let next = unfinishedKey(keys.all(), await readKeyNotes(engine));
  if (next === undefined) {
    next = newMasterKey();
    replaceKeyFile(file, [...keys.all(), next]);
    report(`master key ${next.id} is in ${file}, readable`);
  }
  await noteSealing(engine, next.id, now());
  if (keys.all()[0]?.id !== next.id) {
    replaceKeyFile(file, [next, ...keys.all().filter(({ id }) => id !== next.id)]);
  }
  await sleep(keyFileTurnMs);
  report(`master key ${next.id} seals from now on`);
  return next;
}

/** The new key of an unfinished rotation; undefined when there is none. */
function unfinishedKey(keys: readonly MasterKey[], notes: readonly KeyNote[]): MasterKey | undefined {
  const noteOf = ({ id }: MasterKey) => notes.find(({ keyId }) => keyId === id);
  const [first, ...others] = keys;
  const added = others.find((key) => noteOf(key) === undefined);
  if (added !== undefined) return added;
  if (first !== undefined && noteOf(first)?.state === 'retiring') {
    return others.find((key) => noteOf(key)?.state === 'sealing');
  }
  return notes.some(({ state }) => state === 'retiring') ? first : undefined;
}

async function rotateToFirstKey({ engine, keys, now, report }: RotationParts): Promise<MasterKey> {
  const next = keys.writing();
  const notes = await readKeyNotes(engine);
  if (notes.every(({ keyId, state }) => keyId === next.id || state === 'retired')) {
    throw new SettingsError([
      `the master keys come from the settings or a command, and every secret is under ${next.id} already. To rotate: ` +
        '(1) add a second key after the current one, with a comma, and restart every process; (2) put the new key ' +
        'first, and restart again; (3) run this again; (4) run counterfoil secrets retire; (5) remove the old key',
    ]);
  }
  await noteSealing(engine, next.id, now());
  report(`master key ${next.id} seals from now on`);
  return next;
}

async function rewrapUntilDone(parts: RotationParts, keyId: string): Promise<Rotated> {
  const { engine, keys, records, report } = parts;
  const sealer = new Sealer(keys);
  let rewrapped = 0;
  let pass: Pass | undefined;
  for (let number = 1; number <= rotationPassesMax && pass?.rewrapped !== 0; number++) {
    pass = await rewrapAll(engine, sealer, records, (seen) => report(`pass ${number}: ${seen} records`));
    rewrapped += pass.rewrapped;
  }
  const problems = pass?.problems ?? [];
  const retiring = (await readKeyNotes(engine)).filter(({ state }) => state === 'retiring');
  return {
    keyId,
    rewrapped,
    problems,
    isComplete: pass?.rewrapped === 0 && problems.length === 0,
    retiring: retiring.map((note) => note.keyId),
  };
}

/**
 * Locks a key file for a change. Without the lock, two processes that read, change and write the file at once could lose
 * a key. Each process creates its own lock file and then looks for others, so at least one of two sees the other.
 *
 * Throws SettingsError when another process holds the lock. Removes the lock files and key drafts of killed processes.
 *
 * @returns a function that releases the lock
 */
export function lockKeyFile(keyFile: string): () => void {
  const folder = dirname(keyFile);
  const own = `${basename(keyFile)}.lock-${encodeURIComponent(hostname())}-${process.pid}`;
  writeFileSync(join(folder, own), '', { mode: 0o600 });
  const unlock = () => rmSync(join(folder, own), { force: true });
  for (const name of readdirSync(folder)) {
    if (name === own || !isLockOrDraft(name, basename(keyFile))) continue;
    if (!isAlive(name)) {
      rmSync(join(folder, name), { force: true });
    } else if (name.includes('.lock-')) {
      unlock();
      throw new SettingsError([
        `${join(folder, name)}: another command is changing the master keys; when there is none, remove this file`,
      ]);
    }
  }
  return unlock;
}

function isLockOrDraft(name: string, keyFile: string): boolean {
  return name.startsWith(`${keyFile}.`) && /^(lock-.+-)?\d+$/.test(name.slice(keyFile.length + 1));
}

/** A process on another machine or in another container cannot be checked, and counts as alive. */
function isAlive(name: string): boolean {
  const host = /\.lock-(.+)-\d+$/.exec(name)?.[1];
  if (host !== undefined && host !== encodeURIComponent(hostname())) return true;
  const pid = Number(/(\d+)$/.exec(name)?.[1]);
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
