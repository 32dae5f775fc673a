import { parseArgs } from 'node:util';
import { type OfflineSecrets, openOfflineSecrets, sealedRecords } from '../app/offline/secrets.ts';
import { SettingsError } from '../errors.ts';
import { clockStepMsMax } from '../payments/limits.ts';
import { idPrefix, paymentsSpace } from '../payments/payment.ts';
import { readKeyNotes } from '../secrets/key-notes.ts';
import { isKeyFile, sourceName } from '../secrets/open-sealer.ts';
import { openAll, type SecretsFound } from '../secrets/sealed-records.ts';
import { Sealer } from '../secrets/sealer.ts';
import { loadSettings } from '../settings/load.ts';
import type { Settings } from '../settings/schema.ts';
import { itemsOf } from '../storage/item-text.ts';
import { type Finding, surroundings } from './doctor-surroundings.ts';
import { reportProblems } from './problems.ts';

/** Before this the service was not written: a clock that says so was never set. */
const earliestNow = Date.UTC(2026, 0, 1);

/**
 * `counterfoil doctor`: a line for each check, `ok …` or `problem …` with what to do; the service may be running. Exit 0
 * when all is well, 1 when it is not, 2 when it cannot be told.
 */
export async function doctor(args: readonly string[]): Promise<void> {
  try {
    parseArgs({ args: [...args], options: {} });
    const findings = await examine();
    const status = findings.some((finding) => 'problem' in finding) ? 1 : 0;
    // Without waiting for connections to processors, which they keep open for a while.
    process.stdout.write(findings.map(lineOf).join(''), () => process.exit(status));
  } catch (error) {
    reportProblems(error);
  }
}

function lineOf(finding: Finding): string {
  return 'ok' in finding ? `ok ${finding.ok}\n` : `problem ${finding.problem}\n`;
}

/** Each check stands on the one before: behind a problem that leaves nothing to look at, there are none. */
async function examine(): Promise<readonly Finding[]> {
  let settings: Settings;
  try {
    settings = loadSettings({ env: process.env, file: 'counterfoil.json', simulate: false });
  } catch (error) {
    return problemsOf('settings', error);
  }
  const findings: Finding[] = [{ ok: 'settings' }];
  let vault: OfflineSecrets;
  try {
    vault = await openOfflineSecrets(settings);
  } catch (error) {
    return [...findings, ...problemsOf('data', error)];
  }
  try {
    findings.push({ ok: `store: ${settings.data} opens; counterfoil verify walks all of it` });
    const found = await openAll(vault.engine, new Sealer(vault.keys), sealedRecords);
    findings.push(masterKeys(vault), ...secrets(found), await rotation(vault, found), await clock(vault));
    findings.push(...(await surroundings(settings, vault.engine)));
    return findings;
  } finally {
    await vault.close();
  }
}

function problemsOf(check: string, error: unknown): readonly Finding[] {
  if (!(error instanceof SettingsError)) throw error;
  return error.problems.map((problem) => ({ problem: `${check}: ${problem}` }));
}

/** That it can be read by its owner alone, the opening of the vault has held it to. */
function masterKeys({ keys, source }: OfflineSecrets): Finding {
  const told = isKeyFile(source) ? ', readable by its owner alone' : '';
  return { ok: `master keys: ${keys.all().length} from ${sourceName(source)}${told}` };
}

function secrets({ secrets, problems }: SecretsFound): readonly Finding[] {
  if (problems.length === 0) return [{ ok: `secrets: all ${secrets} open` }];
  return problems.map((problem) => ({
    problem: `secrets: ${problem}; put back a copy of the data that is whole, or register it again`,
  }));
}

async function rotation({ engine, keys }: OfflineSecrets, { underKeys }: SecretsFound): Promise<Finding> {
  const writing = keys.writing().id;
  const notes = await readKeyNotes(engine);
  const retiring = notes.filter(({ state, keyId }) => state === 'retiring' && keyId !== writing);
  const isTurned = notes.every(({ keyId, state }) => keyId !== writing || state === 'sealing');
  const left = [...underKeys.keys()].some((keyId) => keyId !== writing);
  if (!isTurned || left) {
    return { problem: 'rotation: has not come to its end; run counterfoil secrets rotate' };
  }
  if (retiring.length === 0) return { ok: `rotation: everything is under ${writing}` };
  const old = retiring.map(({ keyId }) => keyId).join(', ');
  return { ok: `rotation: everything is under ${writing}; counterfoil secrets retire drops ${old}` };
}

/** A clock put back would take open charges for younger than they are; ids of payments begin with their moment. */
async function clock({ engine }: OfflineSecrets): Promise<Finding> {
  const now = Date.now();
  const told = new Date(now).toISOString();
  if (now < earliestNow) return { problem: `clock: it says ${told}; set it` };
  const scan = await engine.scan(paymentsSpace, { after: idPrefix(now + clockStepMsMax), limit: 1 });
  for await (const { id } of itemsOf(scan?.chunks ?? [])) {
    return { problem: `clock: it says ${told}, and payment ${id} was made later; set it` };
  }
  return { ok: `clock: ${told}` };
}
