import { parseArgs } from 'node:util';
import { type OfflineSecrets, openOfflineSecrets, sealedRecords } from '../app/offline/secrets.ts';
import { SettingsError } from '../errors.ts';
import { readKeyNotes } from '../secrets/key-notes.ts';
import { sourceName } from '../secrets/open-sealer.ts';
import { retire } from '../secrets/retire.ts';
import { type RotationParts, rotate } from '../secrets/rotate.ts';
import { openAll } from '../secrets/sealed-records.ts';
import { Sealer } from '../secrets/sealer.ts';
import { runSubcommand, withOpened } from './command.ts';

const usage = `Usage: counterfoil secrets <command>

  status     print the master keys, and how many secrets each one encrypts
  rotate     encrypt every secret under a new master key; run it again if it was interrupted
  retire     drop the master keys that encrypt no secret any more

These commands work while the service is running, in any number of processes.
`;

/** `counterfoil secrets`: exits with 0, with 1 if a secret was left behind, with 2 if it could not run. */
export async function secrets(args: readonly string[]): Promise<void> {
  const withSecrets =
    (work: (offline: OfflineSecrets) => Promise<void>) => async (rest: readonly string[]) => {
      parseArgs({ args: [...rest], options: {} });
      await withOpened(openOfflineSecrets, work);
    };
  const subcommands = {
    status: withSecrets(printStatus),
    rotate: withSecrets(rotateAndReport),
    retire: withSecrets(retireAndReport),
  };
  await runSubcommand(usage, subcommands, args);
}

async function printStatus({ engine, keys, source }: OfflineSecrets): Promise<void> {
  const { secrets, underKeys, problems } = await openAll(engine, new Sealer(keys), sealedRecords);
  const notes = new Map((await readKeyNotes(engine)).map(({ keyId, state }) => [keyId, state]));
  print(`master keys from ${sourceName(source)}:`);
  for (const { id } of keys.all()) {
    const role = id === keys.writing().id ? 'seals' : (notes.get(id) ?? 'readable, not in use yet');
    print(`${id}  ${role}  ${underKeys.get(id) ?? 0} secrets`);
  }
  print(`${secrets} secrets, ${problems.length} of which cannot be decrypted`);
  for (const problem of problems) print(problem);
  if (problems.length > 0) process.exitCode = 1;
}

async function rotateAndReport(offline: OfflineSecrets): Promise<void> {
  const { keyId, rewrapped, problems, isComplete, retiring } = await rotate(partsOf(offline));
  for (const problem of problems) print(problem);
  print(`${rewrapped} records were put under master key ${keyId}`);
  if (!isComplete) {
    print(
      problems.length > 0
        ? 'the records above were left behind: restore an intact copy, or register them again, and run this again'
        : 'a process still encrypts under an old key: restart every process of the service, and run this again',
    );
    process.exitCode = 1;
  } else if (retiring.length > 0) {
    print(
      `nothing is under ${retiring.join(', ')} any more: in a minute, run counterfoil secrets retire to drop it`,
    );
  }
}

async function retireAndReport(offline: OfflineSecrets): Promise<void> {
  const retired = await retire(partsOf(offline));
  if (retired.length === 0) throw new SettingsError(['there is no old master key to retire']);
  print(`master key ${retired.join(', ')} is retired: ${sourceName(offline.source)} no longer needs it`);
}

function partsOf({ engine, keys, source }: OfflineSecrets): RotationParts {
  const progress = (step: string) => process.stderr.write(`${step}\n`);
  return { engine, keys, source, records: sealedRecords, now: Date.now, report: progress };
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
