import { openLog } from '../log.ts';
import { sealedTokens } from '../payments/payments.ts';
import type { MasterKeys } from '../secrets/master-keys.ts';
import { type MasterKeySource, openMasterKeys } from '../secrets/master-keys.ts';
import type { SealedRecords } from '../secrets/sealer.ts';
import type { Settings } from '../settings/schema.ts';
import { sealedClientSecrets, sealedSigningKeys } from '../sign-in/sign-in.ts';
import type { Engine } from '../storage/engine.ts';
import { existingStore, openEngine } from './adapters.ts';

/** All sealed secrets of the store: a rotation rewraps these. Sealed cookies are not among them: they expire in 10 minutes. */
export const sealedRecords: readonly SealedRecords[] = [sealedClientSecrets, sealedTokens, sealedSigningKeys];

/** The secrets of a data folder, for the commands that manage them. */
export interface OfflineSecrets {
  readonly engine: Engine;
  readonly keys: MasterKeys;
  readonly source: MasterKeySource;
  close(): Promise<void>;
}

/** Opens the secrets for a command. The service may be running. Throws SettingsError. */
export async function openOfflineSecrets(settings: Settings): Promise<OfflineSecrets> {
  if (settings.store === 'lmdb') existingStore(settings);
  const engine = await openEngine(settings, openLog('error'));
  try {
    const source = masterKeySource(settings);
    const keys = await openMasterKeys(engine, source, Date.now());
    return { engine, keys, source, close: () => engine.close() };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

export function masterKeySource(settings: Settings): MasterKeySource {
  const { masterKeys, masterKeyCommand, data } = settings;
  return { settings: masterKeys, command: masterKeyCommand, dataFolder: data };
}
