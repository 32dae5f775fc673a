import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { audited } from '../audit/audit.ts';
import { SettingsError, TransientError } from '../errors.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { creation, Records } from '../storage/records.ts';
import { fixedKeys, KeyFile, keyFilePath, type MasterKeys, makeKeyFile, parseKeys } from './key-file.ts';
import { masterKeyCommandMsMax } from './limits.ts';
import { Sealer } from './sealer.ts';

export type { MasterKeys } from './key-file.ts';

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
  return command === undefined
    ? keyFilePath(dataFolder)
    : 'masterKeyCommand (COUNTERFOIL_MASTER_KEY_COMMAND)';
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
  const file = keyFilePath(source.dataFolder);
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
  if (command === undefined) return new KeyFile(keyFilePath(dataFolder));
  return fixedKeys(parseKeys(await commandOutput(command, sourceName(source)), sourceName(source)));
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
async function commandOutput(command: string, name: string): Promise<string> {
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

/**
 * The store's record of a master key that may have sealed some of its secrets, in `service:sealing` under the key's id.
 * So the start reports a lost or swapped key, before the first secret fails to open.
 */
export interface KeyNote {
  readonly keyId: string;
  /**
   * `retiring`: another key has replaced it, but secrets may still be under it. `retired`: no secret is under it, and the
   * key is being removed from the key file.
   */
  readonly state: 'sealing' | 'retiring' | 'retired';
  /** Time of the last state change, in milliseconds since 1970. */
  readonly since: number;
}

const space = 'service:sealing';

/** Every key that secrets of this store may need. */
export async function readKeyNotes(engine: Engine): Promise<readonly KeyNote[]> {
  const notes: KeyNote[] = [];
  const records = new Records<Omit<KeyNote, 'keyId'>>(engine, 'sealing');
  for await (const { id, value } of records.list()) notes.push({ keyId: id, ...value });
  return notes;
}

/** Records that this key seals from now on, and that every other sealing key is retiring. */
export async function noteSealing(engine: Engine, keyId: string, now: number): Promise<void> {
  for (;;) {
    const notes = await readKeyNotes(engine);
    const writes = notes
      .filter((note) => note.keyId !== keyId && note.state === 'sealing')
      .map((note) => changed(note, { ...note, state: 'retiring', since: now }));
    const own = notes.find((note) => note.keyId === keyId);
    const sealing: KeyNote = { keyId, state: 'sealing', since: now };
    if (own === undefined) writes.push(created(sealing));
    else if (own.state !== 'sealing') writes.push(changed(own, sealing));
    if (writes.length === 0) return;
    const act = { what: 'secrets.rotated', on: `master key ${keyId}`, by: 'cli' } as const;
    if ((await engine.commit([...writes, audited(act, now)])) === undefined) return;
    // Another process has changed the notes meanwhile: try again.
  }
}

/**
 * Records that this key seals too: the processes of a service may switch to a new key one after the other.
 *
 * @returns the note; undefined when there was one already
 */
async function noteKey(engine: Engine, keyId: string, now: number): Promise<KeyNote | undefined> {
  const note: KeyNote = { keyId, state: 'sealing', since: now };
  const act = { what: 'secrets.key_noted', on: `master key ${keyId}`, by: 'service' } as const;
  return (await engine.commit([created(note), audited(act, now)])) === undefined ? note : undefined;
}

/** Records that no secret is under a key any more. @returns the new note */
export async function noteRetired(engine: Engine, note: KeyNote, now: number): Promise<KeyNote> {
  const retired: KeyNote = { ...note, state: 'retired', since: now };
  await engine.commit([changed(note, retired)]);
  return retired;
}

/** Removes the note of a key that is no longer in use. */
export async function forgetKey(engine: Engine, note: KeyNote): Promise<void> {
  await engine.commit([removed(note)]);
}

function created({ keyId, ...note }: KeyNote): Write {
  return creation('sealing', keyId, note);
}

function changed(before: KeyNote, after: KeyNote): Write {
  return { kind: 'replace', space, id: after.keyId, value: noteText(after), ifValue: noteText(before) };
}

function removed(note: KeyNote): Write {
  return { kind: 'delete', space, id: note.keyId, ifValue: noteText(note) };
}

function noteText({ keyId: _id, ...note }: KeyNote): string {
  return JSON.stringify(note);
}
