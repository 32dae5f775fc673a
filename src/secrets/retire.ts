import { SettingsError } from '../errors.ts';
import { keyFileOf, replaceKeyFile } from './key-file.ts';
import { forgetKey, type KeyNote, noteRetired, readKeyNotes } from './key-notes.ts';
import { masterKeyOverlapMs } from './limits.ts';
import { isKeyFile } from './open-sealer.ts';
import { lock, type RotationParts } from './rotate.ts';
import { openAll } from './sealed-records.ts';
import { Sealer } from './sealer.ts';

/**
 * Drops the keys that seal no more, when no secret is under them. Throws SettingsError when one still is, when a key
 * has sealed until a moment ago (a process may not have written yet what it sealed), or when another command is at it.
 *
 * Whoever is killed on the way leaves a key that is noted as retired: no start asks for it, no rotation takes it up
 * again, and the next call takes it away.
 *
 * @returns the ids of the keys; none where there was nothing to retire
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
        keyFileOf(source.dataFolder),
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
  if (notes.some(({ keyId }) => keyId === keys.writing().id)) {
    throw new SettingsError(['a rotation has not come to its end: run counterfoil secrets rotate first']);
  }
  const since = Math.max(...notes.map((note) => note.since));
  const waitMs = since + masterKeyOverlapMs - now();
  if (waitMs > 0) {
    const seconds = Math.ceil(waitMs / 1_000);
    throw new SettingsError([
      `the old master key sealed until a moment ago: run this again in ${seconds} seconds`,
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
