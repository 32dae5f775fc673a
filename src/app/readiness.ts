import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, SettingsError } from '../errors.ts';
import { checkNotedKeys, isKeyFile, loadMasterKeys, type MasterKeySource } from '../secrets/open-sealer.ts';
import type { Engine } from '../storage/engine.ts';
import { readyMsMax } from './limits.ts';

/** All that is looked at; `/readyz` names those that fail. */
export const readyChecks = {
  running: 'The service is stopping.',
  load: 'Requests have been shed for some time: there are more than this process can serve.',
  store_read: 'The store cannot be read.',
  store_write: 'The store cannot be written.',
  disk: 'The disk is full, or nearly so: nothing can be written. Make room on it.',
  master_keys:
    'The master keys cannot be read as the secrets of the store need them. Run counterfoil doctor, which says why.',
} as const;

export type ReadyCheck = keyof typeof readyChecks;

/** @param details of the checks that failed, for the log */
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
  /** Whether requests have been shed for so long that it is no burst. */
  readonly isShedding?: () => boolean;
  /** What takes longer has failed; the limit of readiness without it. */
  readonly answerMsMax?: number;
}

/**
 * Whether the service can take work now: the store can be read and written, the disk has room, the master keys are
 * there. Costs a read of the store and a look at two files, for anybody may ask. Throws ServiceError
 * `unavailable`, with the checks that failed.
 */
export async function checkReady(
  { engine, masterKeys, isShedding = () => false, answerMsMax = readyMsMax }: ReadyParts,
  isStopping: boolean,
): Promise<void> {
  if (isStopping) throw notReady(new Map([['running', 'stopping']]));
  const failed = new Map<ReadyCheck, string>();
  if (isShedding()) failed.set('load', 'requests are shed');
  const look = async (check: ReadyCheck, work: () => Promise<unknown>) => {
    const cause = await failureOf(work, answerMsMax);
    if (cause === undefined) return;
    const isFull = cause instanceof ServiceError && cause.code === 'storage_full';
    failed.set(isFull ? 'disk' : check, (cause as Error).message);
  };
  await Promise.all([
    look('store_read', () => engine.get('service:sealing', 'current-key')),
    look('store_write', () => engine.checkWritable()),
    look('master_keys', () => checkMasterKeys(engine, masterKeys)),
  ]);
  if (failed.size > 0) throw notReady(failed);
}

/** Those of the settings are in memory, and a command is run at the start alone: what can go is the file. */
async function checkMasterKeys(engine: Engine, source: MasterKeySource): Promise<void> {
  if (!isKeyFile(source)) return;
  const keys = await loadMasterKeys(source);
  await checkNotedKeys(engine, keys, source).catch((error: unknown) => {
    // A store that does not tell which keys it needs is found out by its own check.
    if (error instanceof SettingsError) throw error;
  });
}

/** @returns what went wrong, or undefined; what takes too long has gone wrong */
async function failureOf(work: () => Promise<unknown>, msMax: number): Promise<unknown> {
  const late = sleep(msMax, new Error('it does not answer'), { ref: false });
  // A work that throws before it has made a promise has failed like any other.
  const done = Promise.resolve()
    .then(work)
    .then(() => undefined);
  return Promise.race([done.catch((cause: unknown) => cause), late]);
}
