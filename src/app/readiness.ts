import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, SettingsError } from '../errors.ts';
import { PaymentsLock } from '../payments/payments.ts';
import { checkNotedKeys, isKeyFile, loadMasterKeys, type MasterKeySource } from '../secrets/master-keys.ts';
import type { Engine } from '../storage/engine.ts';
import { readyMsMax } from './limits.ts';

/** All checks and the messages for their failure; `/readyz` returns the names of the failed ones. */
export const readyChecks = {
  running: 'The service is stopping.',
  load: 'Requests have been shed for some time: there are more than this process can serve.',
  store_read: 'The store cannot be read.',
  store_write: 'The store cannot be written.',
  disk: 'The disk is full, or nearly so: nothing can be written. Make room on it.',
  master_keys:
    'The master keys that the secrets of the store need cannot be read. Run counterfoil doctor to see why.',
} as const;

export type ReadyCheck = keyof typeof readyChecks;

/** A part that may be shut while the service is ready: its requests are 503, and all others are served. */
export type ShutPart = 'payments';

/** @param details the cause of each failed check, for the log */
function notReady(details: ReadonlyMap<ReadyCheck, string>): ServiceError {
  const failed = (Object.keys(readyChecks) as ReadyCheck[]).filter((check) => details.has(check));
  return new ServiceError('unavailable', {
    message: failed.map((check) => readyChecks[check]).join(' '),
    failed,
    detail: failed.map((check) => `${check}: ${details.get(check)}`).join('; '),
  });
}

export interface ReadyParts {
  readonly engine: Engine;
  readonly masterKeys: MasterKeySource;
  /** Whether requests have been shed for longer than a burst lasts. */
  readonly isShedding?: () => boolean;
  /** A check that takes longer fails; `readyMsMax` by default. */
  readonly checkMsMax?: number;
}

/**
 * Checks that the service can work now: the store is readable and writable, the disk has room, the master keys are
 * readable. It costs only a read of the store and a look at two files, because anyone may call it. Payments that are shut
 * after a restore are no failure: a load balancer would take tables and sign-in away, too.
 *
 * @returns what is shut. Throws ServiceError `unavailable` with the failed checks
 */
export async function checkReady(
  { engine, masterKeys, isShedding = () => false, checkMsMax = readyMsMax }: ReadyParts,
  isStopping: boolean,
): Promise<readonly ShutPart[]> {
  if (isStopping) throw notReady(new Map([['running', 'stopping']]));
  const failed = new Map<ReadyCheck, string>();
  if (isShedding()) failed.set('load', 'requests are shed');
  const run = async (check: ReadyCheck, work: () => Promise<unknown>) => {
    const cause = await findFailure(work, checkMsMax);
    if (cause === undefined) return;
    const isFull = cause instanceof ServiceError && cause.code === 'storage_full';
    failed.set(isFull ? 'disk' : check, (cause as Error).message);
  };
  let shut: readonly ShutPart[] = [];
  const lookAtPayments = async () => {
    if ((await new PaymentsLock(engine).shutBy()) !== undefined) shut = ['payments'];
  };
  await Promise.all([
    run('store_read', lookAtPayments),
    run('store_write', () => engine.checkWritable()),
    run('master_keys', () => checkMasterKeys(engine, masterKeys)),
  ]);
  if (failed.size > 0) throw notReady(failed);
  return shut;
}

/** Checks only a key file. Keys from the settings are in memory, and a command runs only at start. */
async function checkMasterKeys(engine: Engine, source: MasterKeySource): Promise<void> {
  if (!isKeyFile(source)) return;
  const keys = await loadMasterKeys(source);
  await checkNotedKeys(engine, keys, source).catch((error: unknown) => {
    // `store_read` reports a store that cannot be read.
    if (error instanceof SettingsError) throw error;
  });
}

/** @returns the error of the work, also for a timeout; undefined if it succeeds */
async function findFailure(work: () => Promise<unknown>, msMax: number): Promise<unknown> {
  const late = sleep(msMax, new Error('it does not respond'), { ref: false });
  // Also catches a synchronous throw.
  const done = Promise.resolve()
    .then(work)
    .then(() => undefined);
  return Promise.race([done.catch((cause: unknown) => cause), late]);
}
