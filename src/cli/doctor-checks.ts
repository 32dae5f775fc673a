import { openProcessors } from '../app/adapters.ts';
import { addressCheck } from '../app/doctor/address.ts';
import { administratorsCheck } from '../app/doctor/administrators.ts';
import { backupsCheck } from '../app/doctor/backups.ts';
import { type Finding, ok, worstOf } from '../app/doctor/finding.ts';
import {
  clockCheck,
  masterKeysCheck,
  paymentsCheck,
  problemsOf,
  rotationCheck,
  secretsCheck,
} from '../app/doctor/store-checks.ts';
import { diskCheck, processorsCheck, publishableKeysCheck } from '../app/doctor/surroundings.ts';
import { type OfflineSecrets, openOfflineSecrets, sealedRecords } from '../app/offline/secrets.ts';
import { openAll } from '../secrets/sealed-records.ts';
import { Sealer } from '../secrets/sealer.ts';
import type { Settings } from '../settings/schema.ts';
import type { JsonOption } from './command.ts';
import { commandSettings } from './command-settings.ts';
import { printResult } from './output/print.ts';

/**
 * `counterfoil doctor`: works while the service is running. Exits with 0 if there is no problem, with 1 if there is one, and
 * with 2 if it could not run.
 */
export async function doctor({ json }: JsonOption): Promise<void> {
  const findings = await examine();
  const status = worstOf(findings);
  printResult(json, { status, checks: findings.map(toJson) }, findings.map(lineOf));
  // Exits explicitly, because idle connections to processors keep the process alive for a while.
  process.stdout.write('', () => process.exit(status === 'problem' ? 1 : 0));
}

function lineOf(finding: Finding): string {
  return `${finding.status} ${sentenceOf(finding)}`;
}

function toJson(finding: Finding): object {
  return { status: finding.status, message: sentenceOf(finding) };
}

function sentenceOf({ check, message, action }: Finding): string {
  const text = message === '' ? check : `${check}: ${message}`;
  return action === undefined ? text : `${text}; ${action}`;
}

/** Later checks depend on earlier ones: without settings or a store, the rest is skipped. */
async function examine(): Promise<readonly Finding[]> {
  let settings: Settings;
  try {
    settings = await commandSettings();
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
