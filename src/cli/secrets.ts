import { parseArgs } from 'node:util';
import { type OfflineSecrets, openOfflineSecrets, sealedRecords } from '../app/offline/secrets.ts';
import { SettingsError } from '../errors.ts';
import { readKeyNotes } from '../secrets/key-notes.ts';
import { sourceName } from '../secrets/open-sealer.ts';
import { retire } from '../secrets/retire.ts';
import { type RotationParts, rotate } from '../secrets/rotate.ts';
import { openAll } from '../secrets/sealed-records.ts';
import { Sealer } from '../secrets/sealer.ts';
import { loadSettings } from '../settings/load.ts';
import { reportProblems } from './problems.ts';

const usage = `Usage: counterfoil secrets <command>

  status     which master keys there are, and how many secrets are under each
  rotate     put every secret under a new master key; run it again when it was interrupted
  retire     drop the master keys that no secret is under any more

The service may be running meanwhile, in any number of processes.
`;

/** `counterfoil secrets`: exit 0, 1 when a secret is left behind, 2 when it could not be done. */
export async function secrets(args: readonly string[]): Promise<void> {
  const [command, ...rest] = args;
  try {
    parseArgs({ args: rest, options: {} });
    if (command === 'status') await withVault(tellStatus);
    else if (command === 'rotate') await withVault(rotateAndTell);
    else if (command === 'retire') await withVault(retireAndTell);
    else {
      process[command === 'help' || command === undefined ? 'stdout' : 'stderr'].write(usage);
      if (command !== 'help' && command !== undefined) process.exitCode = 2;
    }
  } catch (error) {
    reportProblems(error);
  }
}

async function withVault(work: (vault: OfflineSecrets) => Promise<void>): Promise<void> {
  const settings = loadSettings({ env: process.env, file: 'counterfoil.json', simulate: false });
  const vault = await openOfflineSecrets(settings);
  try {
    await work(vault);
  } finally {
    await vault.close();
  }
}

async function tellStatus({ engine, keys, source }: OfflineSecrets): Promise<void> {
  const { secrets, underKeys, problems } = await openAll(engine, new Sealer(keys), sealedRecords);
  const notes = new Map((await readKeyNotes(engine)).map(({ keyId, state }) => [keyId, state]));
  tell(`master keys from ${sourceName(source)}:`);
  for (const { id } of keys.all()) {
    const role = id === keys.writing().id ? 'seals' : (notes.get(id) ?? 'readable, not in use yet');
    tell(`${id}  ${role}  ${underKeys.get(id) ?? 0} secrets`);
  }
  tell(`${secrets} secrets, ${problems.length} of which do not open`);
  for (const problem of problems) tell(problem);
  if (problems.length > 0) process.exitCode = 1;
}

async function rotateAndTell(vault: OfflineSecrets): Promise<void> {
  const { keyId, rewrapped, problems, isComplete, retiring } = await rotate(partsOf(vault));
  for (const problem of problems) tell(problem);
  tell(`${rewrapped} records were put under master key ${keyId}`);
  if (!isComplete) {
    tell(
      problems.length > 0
        ? 'those above could not be: take a copy that opens, or register them again, and run this again'
        : 'a process goes on sealing under an old key: start every process of the service anew, and run this again',
    );
    process.exitCode = 1;
  } else if (retiring.length > 0) {
    tell(`nothing is under ${retiring.join(', ')} any more: in a minute counterfoil secrets retire drops it`);
  }
}

async function retireAndTell(vault: OfflineSecrets): Promise<void> {
  const retired = await retire(partsOf(vault));
  if (retired.length === 0) throw new SettingsError(['there is no old master key to retire']);
  tell(`master key ${retired.join(', ')} is retired: ${sourceName(vault.source)} needs it no more`);
}

function partsOf({ engine, keys, source }: OfflineSecrets): RotationParts {
  const progress = (step: string) => process.stderr.write(`${step}\n`);
  return { engine, keys, source, records: sealedRecords, now: Date.now, tell: progress };
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}
