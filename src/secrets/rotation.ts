import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SettingsError } from '../errors.ts';
import type { Engine } from '../storage/engine.ts';
import {
  keyFileChangedAt,
  keyFilePath,
  type MasterKey,
  type MasterKeys,
  newMasterKey,
  replaceKeyFile,
} from './key-file.ts';
import { keyFileTurnMs, masterKeyOverlapMs, rotationPassesMax } from './limits.ts';
import {
  forgetKey,
  isKeyFile,
  type KeyNote,
  type MasterKeySource,
  noteRetired,
  noteSealing,
  readKeyNotes,
} from './master-keys.ts';
import { openAll, type Pass, rewrapAll } from './sealed-records.ts';
import { type SealedRecords, Sealer } from './sealer.ts';

export { keyStates, openAll, type SecretsFound } from './sealed-records.ts';

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

interface Rotated {
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
 * 4. wait until every process has read the file again: from now on all processes seal under the new key;
 * 5. rewrap every secret, until a complete pass finds none under another key.
 *
 * Why step 4 is long enough: the processes, workers too, share only the file. Each process notes the time, reads the file, and
 * uses the result for `keyFileLookMs` from the noted time. A read that found the old key first began before the file was
 * replaced, so no process takes the old key, or a data key under it, later than `keyFileLookMs` after the replacement. A
 * process that starts reads the file first. A secret that was sealed earlier and is written behind a pass is found by the
 * next pass or by `retire`. A call after a kill does not know when the file was replaced, so it waits too.
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
function lock(source: MasterKeySource): () => void {
  return isKeyFile(source) ? lockKeyFile(keyFilePath(source.dataFolder)) : () => undefined;
}

/** Steps 1 to 4, or those that remain. */
async function rotateKeyFile({ engine, source, keys, now, report }: RotationParts): Promise<MasterKey> {
  const file = keyFilePath(source.dataFolder);
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
  const noteById = ({ id }: MasterKey) => notes.find(({ keyId }) => keyId === id);
  const [first, ...others] = keys;
  const added = others.find((key) => noteById(key) === undefined);
  if (added !== undefined) return added;
  if (first !== undefined && noteById(first)?.state === 'retiring') {
    return others.find((key) => noteById(key)?.state === 'sealing');
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
function lockKeyFile(keyFile: string): () => void {
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

/**
 * Removes the keys that no longer seal, when no secret is under them. Throws SettingsError when a secret still is, when a
 * key stopped sealing too recently (a process may not have written its last seals yet), or when another command is
 * running.
 *
 * After a kill, the key is recorded as retired: no start needs it, no rotation uses it again, and the next call removes
 * it.
 *
 * @returns the ids of the keys; empty when there was nothing to retire
 */
export async function retire(parts: RotationParts): Promise<readonly string[]> {
  const { engine, source, keys, now } = parts;
  const unlock = lock(source);
  try {
    const notes = (await readKeyNotes(engine)).filter(({ state }) => state !== 'sealing');
    const retiring = notes.filter(({ state }) => state === 'retiring');
    if (retiring.length > 0) await checkUnused(parts, retiring);
    const retired: KeyNote[] = notes.filter(({ state }) => state === 'retired');
    for (const note of retiring) retired.push(await noteRetired(engine, note, now()));
    const ids = retired.map(({ keyId }) => keyId);
    if (isKeyFile(source) && keys.all().some(({ id }) => ids.includes(id))) {
      replaceKeyFile(
        keyFilePath(source.dataFolder),
        keys.all().filter(({ id }) => !ids.includes(id)),
      );
    }
    for (const note of retired) await forgetKey(engine, note);
    return ids;
  } finally {
    unlock();
  }
}

async function checkUnused(parts: RotationParts, notes: readonly KeyNote[]): Promise<void> {
  const { engine, keys, records, now } = parts;
  const writing = keys.all()[0]?.id;
  if (notes.some(({ keyId }) => keyId === writing)) {
    throw new SettingsError(['a key rotation is incomplete: run counterfoil secrets rotate first']);
  }
  const waitMs = stoppedSealingAt(parts, notes) + masterKeyOverlapMs - now();
  if (waitMs > 0) {
    const seconds = Math.ceil(waitMs / 1_000);
    throw new SettingsError([
      `the old master key was in use until recently: run this again in ${seconds} seconds`,
    ]);
  }
  const { underKeys } = await openAll(engine, new Sealer(keys), records);
  const problems = notes
    .filter(({ keyId }) => underKeys.has(keyId))
    .map(
      ({ keyId }) =>
        `${underKeys.get(keyId)} secrets are under ${keyId}: run counterfoil secrets rotate first`,
    );
  if (problems.length > 0) throw new SettingsError(problems);
}

/**
 * In milliseconds since 1970. The notes are written before the key file is replaced. A rotation that was killed in between and
 * continued much later leaves old notes, so the time of the file counts too.
 */
function stoppedSealingAt({ source }: RotationParts, notes: readonly KeyNote[]): number {
  const noted = Math.max(...notes.map((note) => note.since));
  return isKeyFile(source) ? Math.max(noted, keyFileChangedAt(keyFilePath(source.dataFolder))) : noted;
}
