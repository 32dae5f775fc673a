import { SettingsError } from '../errors.ts';
import type { Engine } from '../storage/engine.ts';
import { keyFileOf, newMasterKey, replaceKeyFile } from './key-file.ts';
import { type KeyNote, noteSealing, readKeyNotes } from './key-notes.ts';
import { rotationPassesMax } from './limits.ts';
import type { MasterKey, MasterKeys } from './master-keys.ts';
import { isKeyFile, type MasterKeySource } from './open-sealer.ts';
import { type Pass, rewrapAll } from './rewrap.ts';
import { lockKeyFile } from './rotation-lock.ts';
import type { SealedRecords } from './sealed-records.ts';
import { Sealer } from './sealer.ts';

/** What a rotation needs; the service may be running in any number of processes. */
export interface RotationParts {
  readonly engine: Engine;
  readonly source: MasterKeySource;
  /** Opened by `openMasterKeys`. */
  readonly keys: MasterKeys;
  readonly records: readonly SealedRecords[];
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Told the operator as it goes. */
  readonly tell: (step: string) => void;
}

export interface Rotated {
  readonly keyId: string;
  /** Records whose secrets were put under it. */
  readonly rewrapped: number;
  /** Secrets that could not be rewrapped, a sentence each. */
  readonly problems: readonly string[];
  /** Whether the last look found nothing under another key. */
  readonly isComplete: boolean;
  /** Keys that seal nothing any more and can be retired. */
  readonly retiring: readonly string[];
}

/**
 * Puts every secret under a new master key, step by step; whoever is killed at any of them leaves a store whose every
 * secret opens, and the next call goes on from there:
 *
 * 1. the new key is in the key file, readable: running processes find it when they first meet a seal of it;
 * 2. the store notes that it seals, and that the others are retiring;
 * 3. it is the first of the key file: from here on every process seals under it;
 * 4. every secret is rewrapped, until a whole look finds none under another key.
 *
 * With keys from the settings or a command, steps 1 and 3 are the operator's. Throws SettingsError where they have not
 * been done, or when another command is at it.
 */
export async function rotate(parts: RotationParts): Promise<Rotated> {
  const unlock = lock(parts.source);
  try {
    const { id } = isKeyFile(parts.source) ? await turnKeyFile(parts) : await turnToFirst(parts);
    return await rewrapUntilNoneIsLeft(parts, id);
  } finally {
    unlock();
  }
}

/** Keys that are given to the service, nobody but the operator changes. */
export function lock(source: MasterKeySource): () => void {
  return isKeyFile(source) ? lockKeyFile(keyFileOf(source.dataFolder)) : () => undefined;
}

/** Steps 1 to 3, or what is left of them. */
async function turnKeyFile({ engine, source, keys, now, tell }: RotationParts): Promise<MasterKey> {
  const file = keyFileOf(source.dataFolder);
  let next = begun(keys.all(), await readKeyNotes(engine));
  if (next === undefined) {
    next = newMasterKey();
    replaceKeyFile(file, [...keys.all(), next]);
    tell(`master key ${next.id} is in ${file}, readable`);
  }
  await noteSealing(engine, next.id, now());
  if (keys.writing().id !== next.id) {
    replaceKeyFile(file, [next, ...keys.all().filter(({ id }) => id !== next.id)]);
  }
  tell(`master key ${next.id} seals from now on`);
  return next;
}

/** The new key of a rotation that has not come to its end; undefined where there is none. */
function begun(keys: readonly MasterKey[], notes: readonly KeyNote[]): MasterKey | undefined {
  const noteOf = ({ id }: MasterKey) => notes.find(({ keyId }) => keyId === id);
  const [first, ...others] = keys;
  const added = others.find((key) => noteOf(key) === undefined);
  if (added !== undefined) return added;
  if (first !== undefined && noteOf(first)?.state === 'retiring') {
    return others.find((key) => noteOf(key)?.state === 'sealing');
  }
  return notes.some(({ state }) => state === 'retiring') ? first : undefined;
}

async function turnToFirst({ engine, keys, now, tell }: RotationParts): Promise<MasterKey> {
  const next = keys.writing();
  const notes = await readKeyNotes(engine);
  if (notes.every(({ keyId, state }) => keyId === next.id || state === 'retired')) {
    throw new SettingsError([
      `the master keys are given to the service, and every secret is under ${next.id} already. To rotate: (1) give it ` +
        'a second key behind the one it has, with a comma, to every process, and start each anew; (2) the same with ' +
        'the new key in front; (3) run this again; (4) counterfoil secrets retire; (5) take the old key away',
    ]);
  }
  await noteSealing(engine, next.id, now());
  tell(`master key ${next.id} seals from now on`);
  return next;
}

async function rewrapUntilNoneIsLeft(parts: RotationParts, keyId: string): Promise<Rotated> {
  const { engine, keys, records, tell } = parts;
  const sealer = new Sealer(keys);
  let rewrapped = 0;
  let pass: Pass | undefined;
  for (let number = 1; number <= rotationPassesMax && pass?.rewrapped !== 0; number++) {
    pass = await rewrapAll(engine, sealer, records, (seen) => tell(`pass ${number}: ${seen} records`));
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
