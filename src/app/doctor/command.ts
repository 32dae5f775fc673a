import { openAll } from '../../secrets/rotation.ts';
import { Sealer } from '../../secrets/sealer.ts';
import type { Settings } from '../../settings/schema.ts';
import { openProcessors } from '../adapters.ts';
import { type OfflineSecrets, openOfflineSecrets, sealedRecords } from '../secrets.ts';
import { backupsCheck } from './backups.ts';
import { type Finding, ok } from './finding.ts';
import {
  administratorsCheck,
  clockCheck,
  masterKeysCheck,
  paymentsCheck,
  problemsOf,
  rotationCheck,
  secretsCheck,
} from './store-checks.ts';
import { addressCheck, diskCheck, processorsCheck, publishableKeysCheck } from './surroundings.ts';

/**
 * The checks of `counterfoil doctor`, in order. Without settings or a store, the later checks are skipped.
 *
 * @param load loads the settings; throws SettingsError
 */
export async function examine(load: () => Promise<Settings>): Promise<readonly Finding[]> {
  let settings: Settings;
  try {
    settings = await load();
  } catch (error) {
    return problemsOf('settings', error);
  }
  let offline: OfflineSecrets;
  try {
    offline = await openOfflineSecrets(settings);
  } catch (error) {
    return [ok('settings'), ...problemsOf('data', error)];
  }
  try {
    return [ok('settings'), ...(await examineData(settings, offline))];
  } finally {
    await offline.close();
  }
}

async function examineData(
  settings: Settings,
  { engine, keys, source }: OfflineSecrets,
): Promise<readonly Finding[]> {
  const found = await openAll(engine, new Sealer(keys), sealedRecords);
  const now = Date.now();
  return [
    ok('store', `${settings.data} opens`, 'counterfoil verify reads all of it'),
    masterKeysCheck(keys, source),
    ...secretsCheck(found),
    await rotationCheck(engine, keys, found, now),
    await clockCheck(engine, now),
    await paymentsCheck(engine),
    ...diskCheck(settings),
    await addressCheck(settings),
    ...(await publishableKeysCheck(settings, engine, now)),
    ...(await administratorsCheck(engine, Date.now)),
    ...(await processorsCheck(await openProcessors(settings, undefined), engine)),
    ...(await backupsCheck(settings, now)),
  ];
}
