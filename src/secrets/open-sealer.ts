import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { SettingsError, TransientError } from '../errors.ts';
import type { Engine } from '../storage/engine.ts';
import { KeyFile, keyFileOf, makeKeyFile } from './key-file.ts';
import { forgetKey, noteKey, readKeyNotes } from './key-notes.ts';
import { masterKeyCommandMsMax } from './limits.ts';
import { fixedKeys, type MasterKeys, parseKeys } from './master-keys.ts';
import { Sealer } from './sealer.ts';

export interface MasterKeySource {
  /** The keys of the settings, each 32 bytes in base64, the writing key first; when empty, the command or the file. */
  readonly settings: readonly string[];
  /** A program that prints the keys, and its arguments, separated by spaces. */
  readonly command: string | undefined;
  readonly dataFolder: string;
}

/** The name of the key source, for messages. */
export function sourceName({ settings, command, dataFolder }: MasterKeySource): string {
  if (settings.length > 0) return 'masterKeys (COUNTERFOIL_MASTER_KEY)';
  return command === undefined ? keyFileOf(dataFolder) : 'masterKeyCommand (COUNTERFOIL_MASTER_KEY_COMMAND)';
}

export function isKeyFile({ settings, command }: MasterKeySource): boolean {
  return settings.length === 0 && command === undefined;
}

/**
 * A sealer with the master keys of the settings, of the command or, without either, of the file `<data>.key`. The file is
 * created when the store has no seals yet. Throws SettingsError, also when a key that the store's secrets may need is
 * missing, and TransientError when the command fails.
 *
 * @param now milliseconds since 1970
 */
export async function openSealer(engine: Engine, source: MasterKeySource, now: number): Promise<Sealer> {
  return new Sealer(await openMasterKeys(engine, source, now));
}

/** The keys of `openSealer`, for a command that changes them. */
export async function openMasterKeys(
  engine: Engine,
  source: MasterKeySource,
  now: number,
): Promise<MasterKeys> {
  const noted = await neededKeys(engine);
  const file = keyFileOf(source.dataFolder);
  if (isKeyFile(source) && !existsSync(file)) {
    if (noted.length > 0) throw lost(file, noted);
    makeKeyFile(file);
  }
  const keys = await loadMasterKeys(source);
  await checkNotedKeys(engine, keys, source);
  const writing = keys.writing().id;
  if (noted.includes(writing)) return keys;
  const note = await noteKey(engine, writing, now);
  try {
    // Another process may have recorded a different key at the same time.
    await checkNotedKeys(engine, keys, source);
  } catch (error) {
    if (note !== undefined) await forgetKey(engine, note);
    throw error;
  }
  return keys;
}

/** Reads the keys and changes nothing. Throws SettingsError, and TransientError when the command fails. */
export async function loadMasterKeys(source: MasterKeySource): Promise<MasterKeys> {
  const { settings, command, dataFolder } = source;
  if (settings.length > 0) return fixedKeys(parseKeys(settings.join('\n'), sourceName(source)));
  if (command === undefined) return new KeyFile(keyFileOf(dataFolder));
  return fixedKeys(parseKeys(await outputOf(command, sourceName(source)), sourceName(source)));
}

/** Throws SettingsError when a key that the store's secrets may need is missing. */
export async function checkNotedKeys(
  engine: Engine,
  keys: MasterKeys,
  source: MasterKeySource,
): Promise<void> {
  const problems = (await neededKeys(engine))
    .filter((keyId) => keys.find(keyId) === undefined)
    .map(
      (keyId) =>
        `${sourceName(source)}: secrets in this store were sealed by master key ${keyId}, but only ` +
        `${keys
          .all()
          .map(({ id }) => id)
          .join(', ')} is configured; add the missing key`,
    );
  if (problems.length > 0) throw new SettingsError(problems);
}

/** Ids of the keys that the store's secrets may need. */
async function neededKeys(engine: Engine): Promise<readonly string[]> {
  const notes = await readKeyNotes(engine);
  return notes.filter(({ state }) => state !== 'retired').map(({ keyId }) => keyId);
}

/** Runs the command without a shell; its standard error is not part of the message. Throws TransientError, SettingsError. */
async function outputOf(command: string, name: string): Promise<string> {
  const [program = '', ...args] = command.split(' ').filter(Boolean);
  try {
    const { stdout } = await promisify(execFile)(program, args, {
      timeout: masterKeyCommandMsMax,
      killSignal: 'SIGKILL',
    });
    return stdout;
  } catch (error) {
    const { code, signal } = error as { code?: string | number; signal?: string | null };
    const end = code === undefined || code === null ? `signal ${signal}` : String(code);
    const problem = `${name}: ${program} printed no master key (it ended with ${end})`;
    // Without the program, or the right to run it, the setting is wrong. A program that fails may lack its network.
    throw code === 'ENOENT' || code === 'EACCES'
      ? new SettingsError([problem])
      : new TransientError(problem, error);
  }
}

function lost(file: string, keyIds: readonly string[]): SettingsError {
  return new SettingsError([
    `${file}: does not exist, but secrets in this store were sealed by master key ${keyIds.join(', ')}; restore it, or ` +
      'set the key as COUNTERFOIL_MASTER_KEY',
  ]);
}
