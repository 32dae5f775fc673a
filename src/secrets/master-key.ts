import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { audited } from '../access/audit.ts';
import { SettingsError } from '../errors.ts';
import type { Engine } from '../storage/engine.ts';
import { Sealer } from './sealer.ts';

export interface MasterKeySource {
  /** The key of the settings, 32 bytes in base64. */
  readonly setting: string | undefined;
  readonly dataFolder: string;
}

const space = 'service:sealing';
const currentKey = 'current-key';

/**
 * A sealer under the master key of the settings or, without one, of the file `<data>.key`: beside the data folder,
 * not in it, so that a copy of the data alone opens no secret.
 *
 * The store notes which key sealed its secrets, so that a lost or swapped key is told at start, not by the first
 * secret that does not open. Throws SettingsError.
 */
export async function openSealer(engine: Engine, { setting, dataFolder }: MasterKeySource): Promise<Sealer> {
  const noted = await engine.get(space, currentKey);
  const file = `${resolve(dataFolder)}.key`;
  if (setting === undefined && !existsSync(file)) {
    if (noted !== undefined) throw lost(file, noted);
    makeKey(file);
  }
  const sealer = new Sealer(setting === undefined ? readKey(file) : Buffer.from(setting, 'base64'));
  const sealedBy = noted ?? (await note(engine, sealer.keyId));
  if (sealedBy !== sealer.keyId) {
    throw new SettingsError([
      `masterKey (COUNTERFOIL_MASTER_KEY): the secrets in this store were sealed by master key ${sealedBy}, this is ` +
        `master key ${sealer.keyId}; start with the one that sealed them`,
    ]);
  }
  return sealer;
}

/** On disk before the store notes it: a key that a power cut takes back would take the secrets along. */
function makeKey(file: string): void {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flush: true });
  try {
    // Fails when another process has made the key meanwhile: then that one holds.
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
  const folder = openSync(dirname(file), 'r');
  fsyncSync(folder);
  closeSync(folder);
}

function readKey(file: string): Buffer {
  if ((statSync(file).mode & 0o077) !== 0) {
    throw new SettingsError([`${file}: can be read by others; run: chmod 600 ${file}`]);
  }
  const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
  if (key.length !== 32) throw new SettingsError([`${file}: must hold 32 bytes in base64`]);
  return key;
}

function lost(file: string, keyId: string): SettingsError {
  return new SettingsError([
    `${file}: is not there, and the secrets in this store were sealed by master key ${keyId}; restore it, or give ` +
      'the key as COUNTERFOIL_MASTER_KEY',
  ]);
}

/** @returns the key that is noted now: ours, or that of another process which started at the same moment */
async function note(engine: Engine, keyId: string): Promise<string> {
  const write = { kind: 'create', space, id: currentKey, value: keyId, makeSpace: true } as const;
  const created = audited({ what: 'store.created', on: `master key ${keyId}`, by: 'service' });
  const refusal = await engine.commit([write, created]);
  return refusal === undefined ? keyId : ((await engine.get(space, currentKey)) ?? keyId);
}
