import { Administrators } from '../../access/console/administrators.ts';
import { DamagedStoreError, damageAdvice, SettingsError, TransientError } from '../../errors.ts';
import { clockStepMsMax } from '../../payments/limits.ts';
import { PaymentsLock, paymentMadeAfter } from '../../payments/payments.ts';
import type { MasterKeys } from '../../secrets/master-keys.ts';
import { isKeyFile, type MasterKeySource, readKeyNotes, sourceName } from '../../secrets/master-keys.ts';
import type { SecretsFound } from '../../secrets/rotation.ts';
import { ConsoleApprovals } from '../../sign-in/sign-in.ts';
import type { Engine } from '../../storage/engine.ts';
import { masterKeyAgeMsMax } from '../limits.ts';
import { type Finding, ok, problem, warning } from './finding.ts';

/** Checks of the store's content: master keys, secrets, payments, and the clock by which they were written. */

/** The service did not exist before this date: a clock that says an earlier one was never set. */
const earliestNow = Date.UTC(2026, 0, 1);

/** Turns an error of the settings, or a temporary one, into problems. Throws every other error. */
export function describeProblems(check: string, error: unknown): readonly Finding[] {
  if (error instanceof TransientError) return [problem(check, error.message)];
  if (!(error instanceof SettingsError)) throw error;
  const action = error instanceof DamagedStoreError ? damageAdvice : undefined;
  return error.problems.map((each) => problem(check, each, action));
}

/** Reading the keys has checked that only the owner can read their file. */
export function masterKeysCheck(keys: MasterKeys, source: MasterKeySource): Finding {
  const access = isKeyFile(source) ? ', readable only by its owner' : '';
  return ok('master keys', `${keys.all().length} from ${sourceName(source)}${access}`);
}

export function secretsCheck({ secrets, problems }: SecretsFound): readonly Finding[] {
  if (problems.length === 0) return [ok('secrets', `all ${secrets} open`)];
  const action = 'restore an intact copy of the data, or register it again';
  return problems.map((each) => problem('secrets', each, action));
}

/** Whether everything is under one key, and since when. */
export async function rotationCheck(
  engine: Engine,
  keys: MasterKeys,
  { underKeys }: SecretsFound,
  now: number,
): Promise<Finding> {
  const writing = keys.writing().id;
  const notes = await readKeyNotes(engine);
  const retiring = notes.filter(({ state, keyId }) => state === 'retiring' && keyId !== writing);
  const isTurned = notes.every(({ keyId, state }) => keyId !== writing || state === 'sealing');
  const left = [...underKeys.keys()].some((keyId) => keyId !== writing);
  if (!isTurned || left) return problem('rotation', 'is incomplete', 'run counterfoil secrets rotate again');
  const since = notes.find(({ keyId }) => keyId === writing)?.since ?? now;
  const text = `everything is under ${writing}`;
  if (now - since > masterKeyAgeMsMax)
    return warning(
      'rotation',
      `${text}, since ${new Date(since).toISOString().slice(0, 10)}, which is long`,
      'run counterfoil secrets rotate',
    );
  if (retiring.length === 0) return ok('rotation', text);
  const old = retiring.map(({ keyId }) => keyId).join(', ');
  return ok('rotation', text, `counterfoil secrets retire drops ${old}`);
}

/** If the clock moved backwards, open charges seem younger than they are. Payment ids begin with their timestamp. */
export async function clockCheck(engine: Engine, now: number): Promise<Finding> {
  const time = new Date(now).toISOString();
  if (now < earliestNow) return problem('clock', `it says ${time}`, 'set it');
  const id = await paymentMadeAfter(engine, now + clockStepMsMax);
  if (id === undefined) return ok('clock', time);
  return problem('clock', `it says ${time}, and payment ${id} was made later`, 'set it');
}

export async function paymentsCheck(engine: Engine): Promise<Finding> {
  const restored = await new PaymentsLock(engine).shutBy();
  if (restored === undefined) return ok('payments', 'open');
  const text = `shut since the restore of ${restored.backup}`;
  return problem('payments', text, 'run counterfoil payments reconcile --adopt');
}

/** Administrators who cannot sign in to the console, because the registration that they are bound to is gone or not approved. */
export async function administratorsCheck(engine: Engine, now: () => number): Promise<readonly Finding[]> {
  const administrators = await new Administrators(engine, now).list();
  if (administrators.length === 0) return [];
  const bound = administrators.flatMap(({ registration }) => registration ?? []);
  const accepted = await new ConsoleApprovals(engine, now).accepted(bound);
  const ids = new Set(accepted.map(({ id }) => id));
  const shutOut = administrators.filter(
    ({ registration }) => registration === undefined || !ids.has(registration.id),
  );
  if (shutOut.length === 0) return [ok('administrators', `all ${administrators.length} can sign in`)];
  return shutOut.map(({ issuer, subject, registration }) =>
    warning(
      'administrators',
      registration === undefined
        ? `${subject} of ${issuer} is bound to no integration, and cannot sign in`
        : `${subject} of ${issuer} cannot sign in: ${registration.integration} is not approved, or was registered again`,
      'run counterfoil integrations approve, then counterfoil admins add',
    ),
  );
}
