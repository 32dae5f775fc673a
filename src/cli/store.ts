import { resolve } from 'node:path';
import type { Command } from 'commander';
import { damageAdvice } from '../errors.ts';
import { describe, type JsonOption, subcommand } from './command.ts';
import { commandSettings } from './command-settings.ts';
import { hint, printResult } from './output/print.ts';
import { withProgress } from './output/progress-bar.ts';

const words = {
  there: 'exists, and is unchanged',
  made: 'made; this engine has no point-in-time recovery',
  'made recoverable': 'made, with point-in-time recovery',
} as const;
const states = { there: 'exists', made: 'made', 'made recoverable': 'made_recoverable' } as const;

/** `counterfoil store`. */
export function defineStore(command: Command): void {
  describe(command, {
    description: 'The store of the service.',
    examples: ['store init', 'store init --help'],
    json: 'none',
  });
  subcommand(command, 'init', {
    description: 'Make the missing tables of the service in DynamoDB.',
    examples: ['store init'],
  }).action(init);
  subcommand(command, 'copy', {
    description:
      'Copy everything from one store to another, and compare the two. Stop the service first. Exits with 1 if they ' +
      'differ. If a copy was interrupted, run the same command again to continue.',
    examples: [
      'store copy --from lmdb --to lmdb:/backup/counterfoil',
      'store copy --from lmdb --to dynamodb --into-existing',
    ],
  })
    .requiredOption(
      '--from <store>',
      'lmdb (the data folder of the settings), lmdb:FOLDER or dynamodb (as in the settings)',
    )
    .requiredOption('--to <store>', 'likewise; must be empty')
    .option(
      '--into-existing',
      'allow a target that has items: they stay unchanged, and must not conflict with the source',
    )
    .action(async (options) => (await import('./copy-store.ts')).copyStore(options));
}

async function init({ json }: JsonOption): Promise<void> {
  const settings = await commandSettings();
  const { initStore } = await import('../app/adapters.ts');
  const tables = await initStore(settings);
  printResult(
    json,
    { tables: tables.map(({ table, state }) => ({ table, state: states[state] })) },
    tables.map(({ table, state }) => `${table}: ${words[state]}`),
  );
}

/** `counterfoil verify`: exits with 0 if the store is whole, with 1 if it is damaged, with 2 if there is none. */
export function defineVerify(command: Command): void {
  describe(command, {
    description:
      'Read the whole store and print each damage. Exits with 1 if there is any. Works while the service is running.',
    examples: ['verify', 'verify --json'],
  }).action(verify);
}

async function verify({ json }: JsonOption): Promise<void> {
  const settings = await commandSettings();
  const { verifyData } = await import('../app/adapters.ts');
  const { items, problems } = await withProgress((progress) => verifyData(settings, progress));
  const isWhole = problems.length === 0;
  const verdict = `${items} items: ${isWhole ? 'the store is whole' : 'the store is damaged'}`;
  printResult(json, { is_whole: isWhole, items, problems }, [...problems, verdict]);
  if (isWhole) return;
  process.exitCode = 1;
  if (!json) hint(`What you can do: ${damageAdvice}.`);
}

/** `counterfoil compact`: exits with 0, or with 1 if the file could not be compacted; then it is unchanged. */
export function defineCompact(command: Command): void {
  describe(command, {
    description:
      'Give the free space in the file of the embedded store back to the disk. Stop the service first. The disk needs room for a ' +
      'second copy of the data while this runs.',
    examples: ['compact', 'compact --json'],
  }).action(compact);
}

async function compact({ json }: JsonOption): Promise<void> {
  const settings = await commandSettings();
  const { compactFile, existingStore } = await import('../app/adapters.ts');
  const { bytesBefore, bytesAfter } = await withProgress(
    (progress) => compactFile(existingStore(settings), progress),
    'verifying',
  );
  printResult(json, { bytes_before: bytesBefore, bytes_after: bytesAfter }, [
    `the file of the store has ${bytesAfter} bytes; it had ${bytesBefore}`,
  ]);
}

type Recovered = Awaited<ReturnType<typeof import('../app/restore.ts').recoverData>>;
type RecoveredSpace = Recovered['spaces'][number];

/** `counterfoil recover`: exits with 0 if everything was saved, with 1 if anything is missing. */
export function defineRecover(command: Command): void {
  describe(command, {
    description:
      'Save what can be read of a damaged store into a new one, and print what is missing. The old folder is not changed. ' +
      'Stop the service first. Exits with 1 if anything is missing.',
    examples: ['recover ./data /srv/new'],
  })
    .argument('<old>', 'the data folder with the damaged store')
    .argument('<new>', 'the new data folder, which must be empty')
    .action(recover);
}

async function recover(from: string, to: string, { json }: JsonOption): Promise<void> {
  const { recoverData } = await import('../app/restore.ts');
  const recovered = await withProgress(
    (progress) => recoverData(resolve(from), resolve(to), progress),
    'saving',
  );
  const { isWhole, problems, spaces, arePaymentsShut } = recovered;
  const saved = spaces.reduce((sum, { items }) => sum + items, 0);
  printResult(
    json,
    { is_whole: isWhole, problems, are_payments_shut: arePaymentsShut, spaces: spaces.map(spaceJson) },
    [
      ...problems,
      ...spaces.flatMap(lossLines),
      `${saved} items saved to ${resolve(to)}: ${isWhole ? 'nothing is missing' : 'some of the store is missing'}`,
    ],
  );
  if (!json && arePaymentsShut)
    hint(
      'Payments are shut, because some may be missing. Start with the same master key, and run counterfoil payments reconcile --adopt.',
    );
  if (!isWhole) process.exitCode = 1;
}

function spaceJson({ space, items, expected, lost }: RecoveredSpace): object {
  const ranges = lost.map(({ after, upTo }) => ({ after: after ?? null, up_to: upTo ?? null }));
  return { space, items, expected: expected ?? null, lost: ranges };
}

/** Nothing for a space that is whole. */
function lossLines({ space, items, expected, lost }: RecoveredSpace): string[] {
  if (items === expected) return [];
  const ranges = lost.map(({ after, upTo }) => {
    const from = after === undefined ? 'from the beginning' : `behind ${JSON.stringify(after)}`;
    return `${space}: lost are ids ${from} ${upTo === undefined ? 'to the end' : `up to ${JSON.stringify(upTo)}`}`;
  });
  const count = expected === undefined ? 'and its count is lost' : `of ${expected}`;
  return [`${space}: ${items} items saved, ${count}`, ...ranges];
}
