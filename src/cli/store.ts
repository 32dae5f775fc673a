import { parseArgs } from 'node:util';
import { initStore } from '../app/adapters.ts';
import { commandSettings, runSubcommand } from './command.ts';
import { copyStore } from './copy-store.ts';

const usage = `Usage: counterfoil store <command>

  init             make the missing tables of the service in DynamoDB
  copy             copy everything from one store to another, and compare the two; stop the service first
    --from STORE     lmdb (the data folder of the settings), lmdb:FOLDER or dynamodb (as in the settings)
    --to STORE       likewise; must be empty
    --into-existing  allow a target that has items: they stay unchanged, and must not conflict with the source

If a copy was interrupted, run the same command again to continue.
`;

const words = {
  there: 'exists, and is unchanged',
  made: 'made; this engine has no point-in-time recovery',
  'made recoverable': 'made, with point-in-time recovery',
} as const;

/** `counterfoil store`: exits with 0, with 1 if a copy differs from its source, with 2 if it could not run. */
export async function store(args: readonly string[]): Promise<void> {
  await runSubcommand(usage, { init, copy: copyStore }, args);
}

async function init(args: readonly string[]): Promise<void> {
  parseArgs({ args: [...args], options: {} });
  const settings = commandSettings();
  for (const { table, state } of await initStore(settings))
    process.stdout.write(`${table}: ${words[state]}\n`);
}
