import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { SettingsError } from '../errors.ts';
import type { Engine } from '../storage/engine.ts';
import { Sealer } from './sealer.ts';

/**
 * The master key of the settings or, without one, that of the file `<data>.key`: beside the data folder, not in
 * it, so that a copy of the data alone opens no secret. Made on the first start, readable by its owner alone.
 */
export function loadMasterKey(setting: string | undefined, dataFolder: string): Buffer {
  if (setting !== undefined) return Buffer.from(setting, 'base64');
  const file = `${resolve(dataFolder)}.key`;
  if (!existsSync(file)) {
    writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  }
  if ((statSync(file).mode & 0o077) !== 0) {
    throw new SettingsError([`${file}: can be read by others; run: chmod 600 ${file}`]);
  }
  const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
  if (key.length !== 32) throw new SettingsError([`${file}: must hold 32 bytes in base64`]);
  return key;
}

const space = 'service:sealing';
const currentKey = 'current-key';

/**
 * A sealer under the key, once it is sure that the store's secrets were sealed by it: the first start notes which
 * key that is. A lost or swapped key is then told at start, not by the first secret that does not open.
 */
export async function openSealer(engine: Engine, masterKey: Buffer): Promise<Sealer> {
  const sealer = new Sealer(masterKey);
  const noted = (await engine.get(space, currentKey)) ?? (await note(engine, sealer.keyId));
  if (noted !== sealer.keyId) {
    throw new SettingsError([
      `masterKey (COUNTERFOIL_MASTER_KEY): the secrets in this store were sealed by master key ${noted}, this is ` +
        `master key ${sealer.keyId}; start with the one that sealed them`,
    ]);
  }
  return sealer;
}

/** @returns the key that is noted now: ours, or that of another process which started at the same moment */
async function note(engine: Engine, keyId: string): Promise<string> {
  const write = { kind: 'create', space, id: currentKey, value: keyId, makeSpace: true } as const;
  const refusal = await engine.commit([write]);
  return refusal === undefined ? keyId : ((await engine.get(space, currentKey)) ?? keyId);
}
