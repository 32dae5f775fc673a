import type { Command } from 'commander';
import { describe, type JsonOption, subcommand } from './command.ts';
import { commandSettings } from './command-settings.ts';
import { printResult } from './output/print.ts';

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
