import { type OfflineSecrets, openOfflineSecrets, sealedRecords } from '../app/offline/secrets.ts';
import { SettingsError, TransientError } from '../errors.ts';
import { clockStepMsMax } from '../payments/limits.ts';
import { idPrefix, paymentsSpace } from '../payments/payment.ts';
import { restoredOf } from '../payments/restored.ts';
import { readKeyNotes } from '../secrets/key-notes.ts';
import { isKeyFile, sourceName } from '../secrets/open-sealer.ts';
import { openAll, type SecretsFound } from '../secrets/sealed-records.ts';
import { Sealer } from '../secrets/sealer.ts';
import type { Settings } from '../settings/schema.ts';
import { itemsOf } from '../storage/item-text.ts';
import type { JsonOption } from './command.ts';
import { commandSettings } from './command-settings.ts';
import { backups } from './doctor-backups.ts';
import { type Finding, surroundings } from './doctor-surroundings.ts';
import { printResult } from './output/print.ts';

/** The service did not exist before this: an earlier clock was never set. */
const earliestNow = Date.UTC(2026, 0, 1);

/**
 * `counterfoil doctor`: works while the service is running. Exits with 0 if there is no problem, with 1 if there is one, and
 * with 2 if it could not run.
 */
export async function doctor({ json }: JsonOption): Promise<void> {
  const findings = await examine();
  const hasProblem = findings.some((finding) => 'problem' in finding);
  printResult(
    json,
    { status: hasProblem ? 'problem' : 'ok', checks: findings.map(toJson) },
    findings.map(lineOf),
  );
  // Exits explicitly, because idle connections to processors keep the process alive for a while.
  process.stdout.write('', () => process.exit(hasProblem ? 1 : 0));
}

function lineOf(finding: Finding): string {
  return 'ok' in finding ? `ok ${finding.ok}` : `problem ${finding.problem}`;
}

function toJson(finding: Finding): object {
  return 'ok' in finding
    ? { status: 'ok', message: finding.ok }
    : { status: 'problem', message: finding.problem };
}

/** Later checks depend on earlier ones: without settings or a store, the rest is skipped. */
async function examine(): Promise<readonly Finding[]> {
  let settings: Settings;
  try {
    settings = await commandSettings();
  } catch (error) {
    return problemsOf('settings', error);
  }
  const findings: Finding[] = [{ ok: 'settings' }];
  let offline: OfflineSecrets;
  try {
    offline = await openOfflineSecrets(settings);
  } catch (error) {
    return [...findings, ...problemsOf('data', error)];
  }
  try {
    findings.push({ ok: `store: ${settings.data} opens; counterfoil verify reads all of it` });
    const found = await openAll(offline.engine, new Sealer(offline.keys), sealedRecords);
    findings.push(
      masterKeys(offline),
      ...secrets(found),
      await rotation(offline, found),
      await clock(offline),
    );
    findings.push(await payments(offline));
    findings.push(...(await surroundings(settings, offline.engine)), ...(await backups(settings)));
    return findings;
  } finally {
    await offline.close();
  }
}

async function payments({ engine }: OfflineSecrets): Promise<Finding> {
  const restored = await restoredOf(engine);
  if (restored === undefined) return { ok: 'payments: open' };
  const { backup } = restored;
  return {
    problem: `payments: shut since the restore of ${backup}; run counterfoil payments reconcile --adopt`,
  };
}

function problemsOf(check: string, error: unknown): readonly Finding[] {
  if (error instanceof TransientError) return [{ problem: `${check}: ${error.message}` }];
  if (!(error instanceof SettingsError)) throw error;
  return error.problems.map((problem) => ({ problem: `${check}: ${problem}` }));
}

/** `openOfflineSecrets` has checked that only the owner can read the key file. */
function masterKeys({ keys, source }: OfflineSecrets): Finding {
  const access = isKeyFile(source) ? ', readable only by its owner' : '';
  return { ok: `master keys: ${keys.all().length} from ${sourceName(source)}${access}` };
}

function secrets({ secrets, problems }: SecretsFound): readonly Finding[] {
  if (problems.length === 0) return [{ ok: `secrets: all ${secrets} open` }];
  return problems.map((problem) => ({
    problem: `secrets: ${problem}; restore an intact copy of the data, or register it again`,
  }));
}

async function rotation({ engine, keys }: OfflineSecrets, { underKeys }: SecretsFound): Promise<Finding> {
  const writing = keys.writing().id;
  const notes = await readKeyNotes(engine);
  const retiring = notes.filter(({ state, keyId }) => state === 'retiring' && keyId !== writing);
  const isTurned = notes.every(({ keyId, state }) => keyId !== writing || state === 'sealing');
  const left = [...underKeys.keys()].some((keyId) => keyId !== writing);
  if (!isTurned || left) {
    return { problem: 'rotation: is incomplete; run counterfoil secrets rotate again' };
  }
  if (retiring.length === 0) return { ok: `rotation: everything is under ${writing}` };
  const old = retiring.map(({ keyId }) => keyId).join(', ');
  return { ok: `rotation: everything is under ${writing}; counterfoil secrets retire drops ${old}` };
}

/** If the clock moved backwards, open charges seem younger than they are. Payment ids begin with their timestamp. */
async function clock({ engine }: OfflineSecrets): Promise<Finding> {
  const now = Date.now();
  const time = new Date(now).toISOString();
  if (now < earliestNow) return { problem: `clock: it says ${time}; set it` };
  const scan = await engine.scan(paymentsSpace, { after: idPrefix(now + clockStepMsMax), limit: 1 });
  for await (const { id } of itemsOf(scan?.chunks ?? [])) {
    return { problem: `clock: it says ${time}, and payment ${id} was made later; set it` };
  }
  return { ok: `clock: ${time}` };
}
