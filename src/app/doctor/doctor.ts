import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../errors.ts';
import type { DoctorReport } from '../../http/routes/doctor.ts';
import { errorFields, type Log } from '../../log.ts';
import type { ProcessorAccount } from '../../processors/processor.ts';
import {
  checkNotedKeys,
  isKeyFile,
  loadMasterKeys,
  type MasterKeySource,
  type MasterKeys,
  readKeyNotes,
} from '../../secrets/master-keys.ts';
import { keyStates, openAll, type SecretsFound } from '../../secrets/rotation.ts';
import { Sealer } from '../../secrets/sealer.ts';
import type { Settings } from '../../settings/schema.ts';
import type { Engine } from '../../storage/engine.ts';
import { openProcessors } from '../adapters.ts';
import { openSchedule } from '../backups/schedule.ts';
import type { Backups } from '../backups/start.ts';
import { sealedRecords } from '../domains.ts';
import { doctorCheckMsMax } from '../limits.ts';
import { type OfflineSecrets, openOfflineSecrets } from '../offline.ts';
import { backupsCheck, newestBackupCheck, noBackupsMade } from './backups.ts';
import { type Finding, ok, problem, worstStatus } from './finding.ts';
import {
  administratorsCheck,
  clockCheck,
  describeProblems,
  masterKeysCheck,
  paymentsCheck,
  rotationCheck,
  secretsCheck,
} from './store-checks.ts';
import {
  addressCheck,
  diskCheck,
  processorsCheck,
  publishableKeysCheck,
  reachCheck,
} from './surroundings.ts';

type Findings = readonly Finding[] | Promise<readonly Finding[]>;

/** What the doctor examines. The command and the running service differ in four checks. */
interface Examined {
  readonly settings: Settings;
  readonly engine: Engine;
  readonly keys: MasterKeys;
  /** Every known processor; undefined for one without a key. */
  readonly processors: ReadonlyMap<string, ProcessorAccount | undefined>;
  readonly now: () => number;
  readonly checkStore: () => Findings;
  readonly checkMasterKeys: () => Findings;
  readonly checkAddress: () => Finding | Promise<Finding>;
  readonly checkBackups: (now: number) => Findings;
  /** Called with the result of opening every secret. */
  readonly secretsFound?: (found: SecretsFound) => Promise<void>;
}

interface DoctorCheck {
  /** Names the check in its problems. */
  readonly name: string;
  readonly run: () => Findings;
}

/** The checks of the doctor, in the order of their findings. */
function listChecks(examined: Examined): readonly DoctorCheck[] {
  const { settings, engine, keys, processors, now } = examined;
  const at = now();
  return [
    { name: 'store', run: examined.checkStore },
    {
      name: 'master keys',
      run: async () => {
        const found = await openAll(engine, new Sealer(keys), sealedRecords);
        await examined.secretsFound?.(found);
        const ofKeys = await examined.checkMasterKeys();
        return [...ofKeys, ...secretsCheck(found), await rotationCheck(engine, keys, found, at)];
      },
    },
    { name: 'clock', run: async () => [await clockCheck(engine, at)] },
    { name: 'payments', run: async () => [await paymentsCheck(engine)] },
    { name: 'disk', run: async () => diskCheck(settings) },
    { name: 'address', run: async () => [await examined.checkAddress()] },
    { name: 'publishable API keys', run: () => publishableKeysCheck(settings, engine, at) },
    { name: 'processors', run: () => processorsCheck(processors, engine) },
    { name: 'administrators', run: () => administratorsCheck(engine, now) },
    { name: 'backups', run: async () => examined.checkBackups(at) },
  ];
}

/**
 * Runs the checks of `counterfoil doctor`, one after another. Without settings or a store, the later checks are skipped.
 *
 * @param load loads the settings; throws SettingsError
 */
export async function examine(load: () => Promise<Settings>): Promise<readonly Finding[]> {
  let settings: Settings;
  try {
    settings = await load();
  } catch (error) {
    return describeProblems('settings', error);
  }
  let offline: OfflineSecrets;
  try {
    offline = await openOfflineSecrets(settings);
  } catch (error) {
    return [ok('settings'), ...describeProblems('data', error)];
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
  const checks = listChecks({
    settings,
    engine,
    keys,
    processors: await openProcessors(settings, undefined),
    now: Date.now,
    checkStore: () => [ok('store', `${settings.data} opens`, 'counterfoil verify reads all of it')],
    checkMasterKeys: () => [masterKeysCheck(keys, source)],
    checkAddress: () => addressCheck(settings),
    checkBackups: (now) => backupsCheck(settings, now),
  });
  const findings: Finding[] = [];
  for (const { run } of checks) findings.push(...(await run()));
  return findings;
}

/** The parts of a running service that its doctor examines. */
interface ServiceParts {
  readonly engine: Engine;
  /** The keys that the service has loaded. */
  readonly keys: MasterKeys;
  readonly source: MasterKeySource;
  readonly processors: ReadonlyMap<string, ProcessorAccount | undefined>;
  readonly backups: () => Pick<Backups, 'report'>;
  readonly log: Log;
  readonly now: () => number;
}

/**
 * The same checks in the running service. They run concurrently, and all callers share one examination. A check that fails or takes
 * longer than `doctorCheckMsMax` is a problem.
 */
export class RunningDoctor {
  readonly #settings: Settings;
  readonly #parts: ServiceParts;
  #examining: Promise<DoctorReport> | undefined;

  constructor(settings: Settings, parts: ServiceParts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  examine(): Promise<DoctorReport> {
    this.#examining ??= this.#examine().finally(() => {
      this.#examining = undefined;
    });
    return this.#examining;
  }

  async #examine(): Promise<DoctorReport> {
    const { engine, keys, processors, now } = this.#parts;
    const at = now();
    let masterKeys: DoctorReport['master_keys'] = [];
    const checks = listChecks({
      settings: this.#settings,
      engine,
      keys,
      // The simulated one is a part of the service.
      processors: new Map([...processors].filter(([name]) => name !== 'simulated')),
      now,
      checkStore: () => this.#checkStore(),
      checkMasterKeys: () => this.#checkMasterKeys(),
      checkAddress: () => reachCheck(this.#settings),
      checkBackups: (moment) => this.#checkBackups(moment),
      secretsFound: async (found) => {
        masterKeys = keyStates(keys, await readKeyNotes(engine), found);
      },
    });
    const findings = (await Promise.all(checks.map((check) => this.#run(check)))).flat();
    return {
      status: worstStatus(findings),
      checked_at: new Date(at).toISOString(),
      checks: findings.map(({ action = null, ...check }) => ({ ...check, action })),
      master_keys: masterKeys,
    };
  }

  /** Writes nothing: `checkWritable` only looks. */
  async #checkStore(): Promise<readonly Finding[]> {
    const { engine } = this.#parts;
    await engine.get('service:sealing', 'probe');
    await engine.checkWritable();
    return [ok('store', 'can be read and written', 'counterfoil verify reads all of it')];
  }

  /** Reads a key file again, because its mode or its content may have changed. A command is run at the start only. */
  async #checkMasterKeys(): Promise<readonly Finding[]> {
    const { engine, source } = this.#parts;
    try {
      const keys = isKeyFile(source) ? await loadMasterKeys(source) : this.#parts.keys;
      await checkNotedKeys(engine, keys, source);
      return [masterKeysCheck(keys, source)];
    } catch (error) {
      return describeProblems('master keys', error);
    }
  }

  async #checkBackups(now: number): Promise<readonly Finding[]> {
    const { store, backup } = this.#settings;
    if (store !== 'lmdb') return [];
    const { target: place, newest, problem: reason, last_failure } = await this.#parts.backups().report();
    if (place === null) return [noBackupsMade];
    if (reason !== null) return [problem('backups', reason)];
    if (newest === null && last_failure !== null) return [problem('backups', last_failure.message)];
    const schedule = openSchedule(backup.schedule);
    return [newestBackupCheck({ place, newest: newest ?? undefined, schedule, now })];
  }

  async #run({ name, run }: DoctorCheck): Promise<readonly Finding[]> {
    const done = new AbortController();
    const late = sleep(doctorCheckMsMax, undefined, { ref: false, signal: done.signal });
    const tooLate = [problem(name, `has not ended within ${doctorCheckMsMax / 1_000} s`, 'try again')];
    try {
      return await Promise.race([run(), late.then(() => tooLate)]);
    } catch (error) {
      if (error instanceof ServiceError) return [problem(name, error.message)];
      this.#parts.log.error('unforeseen_error', errorFields(error));
      return [problem(name, 'could not be examined', 'the log says why (unforeseen_error)')];
    } finally {
      done.abort();
      late.catch(() => undefined);
    }
  }
}
