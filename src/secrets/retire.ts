import { SettingsError } from '../errors.ts';
import { keyFileChangedAt, keyFileOf, replaceKeyFile } from './key-file.ts';
import { forgetKey, type KeyNote, noteRetired, readKeyNotes } from './key-notes.ts';
import { masterKeyOverlapMs } from './limits.ts';
import { isKeyFile } from './open-sealer.ts';
import { lock, type RotationParts } from './rotate.ts';
import { openAll } from './sealed-records.ts';
import { Sealer } from './sealer.ts';

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
 * The notes are written before the key file is replaced. A rotation that was killed in between, and continued much later,
 * leaves old notes, so the file's own time counts, too. In milliseconds since 1970.
 */
function stoppedSealingAt({ source }: RotationParts, notes: readonly KeyNote[]): number {
  const noted = Math.max(...notes.map((note) => note.since));
  return isKeyFile(source) ? Math.max(noted, keyFileChangedAt(keyFileOf(source.dataFolder))) : noted;
}
