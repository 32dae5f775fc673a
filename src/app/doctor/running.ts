import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../errors.ts';
import type { DoctorReport } from '../../http/routes/doctor.ts';
import type { Log } from '../../log.ts';
import { errorFields } from '../../log.ts';
import type { Payments } from '../../payments/payments.ts';
import type { MasterKeys } from '../../secrets/master-keys.ts';
import {
  checkNotedKeys,
  isKeyFile,
  loadMasterKeys,
  type MasterKeySource,
  readKeyNotes,
} from '../../secrets/master-keys.ts';
import { keyStates, openAll, type SecretsFound } from '../../secrets/rotation.ts';
import { Sealer } from '../../secrets/sealer.ts';
import type { Settings } from '../../settings/schema.ts';
import type { Engine } from '../../storage/engine.ts';
import { openSchedule } from '../backups/schedule.ts';
import type { Backups } from '../backups/start.ts';
import { doctorCheckMsMax } from '../limits.ts';
import { sealedRecords } from '../secrets.ts';
import { newestBackupCheck, noBackupsMade } from './backups.ts';
import { type Finding, ok, problem, worstOf } from './finding.ts';
import {
  administratorsCheck,
  clockCheck,
  masterKeysCheck,
  paymentsCheck,
  problemsOf,
  rotationCheck,
  secretsCheck,
} from './store-checks.ts';
import { diskCheck, processorsCheck, publishableKeysCheck, reachCheck } from './surroundings.ts';

/** What the doctor of a running service looks at. */
export interface ServiceParts {
  readonly engine: Engine;
  /** The keys that the service has loaded. */
  readonly keys: MasterKeys;
  readonly source: MasterKeySource;
  readonly processors: Payments['processors'];
  readonly backups: () => Pick<Backups, 'report'>;
  readonly log: Log;
  readonly now: () => number;
}

/**
 * The checks of `counterfoil doctor` in the running service, by the same rules. They run at once, and one examination at a time, which
 * all callers share. A check that fails or takes longer than `doctorCheckMsMax` is a problem.
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
    const { engine, now } = this.#parts;
    const at = now();
    let masterKeys: DoctorReport['master_keys'] = [];
    const secrets = async () => {
      const { keys, source } = this.#parts;
      const found = await openAll(engine, new Sealer(keys), sealedRecords);
      masterKeys = keyStates(keys, await readKeyNotes(engine), found);
      return [await this.#masterKeys(source), ...(await this.#secrets(found, at))].flat();
    };
    const findings = await Promise.all([
      this.#run('store', () => this.#store()),
      this.#run('master keys', secrets),
      this.#run('clock', async () => [await clockCheck(engine, at)]),
      this.#run('payments', async () => [await paymentsCheck(engine)]),
      this.#run('disk', async () => diskCheck(this.#settings)),
      this.#run('address', async () => [reachCheck(this.#settings)]),
      this.#run('publishable API keys', () => publishableKeysCheck(this.#settings, engine, at)),
      this.#run('processors', () => processorsCheck(this.#processors(), engine)),
      this.#run('administrators', () => administratorsCheck(engine, now)),
      this.#run('backups', () => this.#backups(at)),
    ]);
    const checks = findings.flat();
    return {
      status: worstOf(checks),
      checked_at: new Date(at).toISOString(),
      checks: checks.map(({ action = null, ...check }) => ({ ...check, action })),
      master_keys: masterKeys,
    };
  }

  /** Nothing is written: `checkWritable` only looks. */
  async #store(): Promise<readonly Finding[]> {
    const { engine } = this.#parts;
    await engine.get('service:sealing', 'probe');
    await engine.checkWritable();
    return [ok('store', 'can be read and written', 'counterfoil verify reads all of it')];
  }

  /** A key file is read anew: its mode may have changed, or its content. A command is run at the start only. */
  async #masterKeys(source: MasterKeySource): Promise<readonly Finding[]> {
    const { engine } = this.#parts;
    try {
      const keys = isKeyFile(source) ? await loadMasterKeys(source) : this.#parts.keys;
      await checkNotedKeys(engine, keys, source);
      return [masterKeysCheck(keys, source)];
    } catch (error) {
      return problemsOf('master keys', error);
    }
  }

  async #secrets(found: SecretsFound, now: number): Promise<readonly Finding[]> {
    const { engine, keys } = this.#parts;
    return [...secretsCheck(found), await rotationCheck(engine, keys, found, now)];
  }

  /** The simulated one is a part of the service. */
  #processors(): Payments['processors'] {
    return new Map([...this.#parts.processors].filter(([name]) => name !== 'simulated'));
  }

  async #backups(now: number): Promise<readonly Finding[]> {
    const { store, backup } = this.#settings;
    if (store !== 'lmdb') return [];
    const { target: place, newest, problem: reason, last_failure } = await this.#parts.backups().report();
    if (place === null) return [noBackupsMade];
    if (reason !== null) return [problem('backups', reason)];
    if (newest === null && last_failure !== null) return [problem('backups', last_failure.message)];
    const schedule = openSchedule(backup.schedule);
    return [newestBackupCheck({ place, newest: newest ?? undefined, schedule, now })];
  }

  async #run(check: string, work: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
    const done = new AbortController();
    const late = sleep(doctorCheckMsMax, undefined, { ref: false, signal: done.signal });
    const tooLate = [problem(check, `has not ended within ${doctorCheckMsMax / 1_000} s`, 'try again')];
    try {
      return await Promise.race([work(), late.then(() => tooLate)]);
    } catch (error) {
      if (error instanceof ServiceError) return [problem(check, error.message)];
      this.#parts.log.error('unforeseen_error', errorFields(error));
      return [problem(check, 'could not be examined', 'the log says why (unforeseen_error)')];
    } finally {
      done.abort();
      late.catch(() => undefined);
    }
  }
}
