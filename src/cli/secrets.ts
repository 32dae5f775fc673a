import type { Command } from 'commander';
import type { OfflineSecrets } from '../app/offline.ts';
import { readKeyNotes, sourceName } from '../secrets/master-keys.ts';
import { keyStates, openAll, type RotationParts, retire, rotate } from '../secrets/rotation.ts';
import type { SealedRecords } from '../secrets/sealer.ts';
import { Sealer } from '../secrets/sealer.ts';
import { describe, type JsonOption, subcommand, withOpened } from './command.ts';
import { hint, printResult } from './output/print.ts';
import { WorkFailed } from './problems.ts';

/** The opened secrets, and the records that they are in. */
interface Opened extends OfflineSecrets {
  readonly records: readonly SealedRecords[];
}

/** `counterfoil secrets`: works while the service is running, in any number of processes. */
export function defineSecrets(command: Command): void {
  describe(command, {
    description: 'The master keys, which encrypt every secret of the store.',
    examples: ['secrets status', 'secrets status --help'],
    json: 'none',
  });
  subcommand(command, 'status', {
    description:
      'Print the master keys, and how many secrets each one encrypts. Exits with 1 if a secret cannot be decrypted.',
    examples: ['secrets status', 'secrets status --json'],
  }).action(withSecrets(printStatus));
  subcommand(command, 'rotate', {
    description:
      'Encrypt every secret under a new master key. If it was interrupted, or exits with 1 because a secret was left ' +
      'behind, run it again.',
    examples: ['secrets rotate'],
  }).action(withSecrets(rotateAndReport));
  subcommand(command, 'retire', {
    description: 'Drop the master keys that encrypt no secret any more.',
    examples: ['secrets retire'],
  }).action(withSecrets(retireAndReport));
}

function withSecrets(work: (opened: Opened, json: boolean | undefined) => Promise<void>) {
  return async ({ json }: JsonOption) => {
    const { openOfflineSecrets } = await import('../app/offline.ts');
    const { sealedRecords: records } = await import('../app/domains.ts');
    await withOpened(openOfflineSecrets, (offline) => work({ ...offline, records }, json));
  };
}

async function printStatus(
  { engine, keys, source, records }: Opened,
  json: boolean | undefined,
): Promise<void> {
  const found = await openAll(engine, new Sealer(keys), records);
  const { secrets, problems } = found;
  const listed = keyStates(keys, await readKeyNotes(engine), found);
  const from = sourceName(source);
  printResult(json, { source: from, master_keys: listed, secrets, problems }, [
    `master keys from ${from}:`,
    ...listed.map(
      ({ id, is_writing: isWriting, state, secrets: count }) =>
        `${id}  ${isWriting ? 'seals' : stateText(state)}  ${count} secrets`,
    ),
    `${secrets} secrets, ${problems.length} of which cannot be decrypted`,
    ...problems,
  ]);
  if (problems.length > 0) process.exitCode = 1;
}

function stateText(state: string): string {
  return state === 'unused' ? 'readable, not in use yet' : state;
}

async function rotateAndReport(opened: Opened, json: boolean | undefined): Promise<void> {
  const { keyId, rewrapped, problems, isComplete, retiring } = await rotate(rotationParts(opened));
  const lines = [...problems, `${rewrapped} records were put under master key ${keyId}`];
  if (!isComplete)
    lines.push(
      problems.length > 0
        ? 'the records above were left behind: restore an intact copy, or register them again, and run this again'
        : 'a process still encrypts under an old key: restart every process of the service, and run this again',
    );
  else if (retiring.length > 0)
    lines.push(
      `nothing is under ${retiring.join(', ')} any more: in a minute, run counterfoil secrets retire to drop it`,
    );
  const result = { master_key: keyId, rewrapped, is_complete: isComplete, retiring, problems };
  printResult(json, result, lines);
  if (!isComplete) process.exitCode = 1;
}

async function retireAndReport(opened: Opened, json: boolean | undefined): Promise<void> {
  const retired = await retire(rotationParts(opened));
  if (retired.length === 0) throw new WorkFailed('nothing_to_retire', 'there is no old master key to retire');
  const line = `master key ${retired.join(', ')} is retired: ${sourceName(opened.source)} no longer needs it`;
  printResult(json, { retired }, line);
}

function rotationParts({ engine, keys, source, records }: Opened): RotationParts {
  return { engine, keys, source, records, now: Date.now, report: hint };
}
