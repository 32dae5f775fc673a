import { parseArgs } from 'node:util';
import { initStore } from '../app/adapters.ts';
import { loadSettings } from '../settings/load.ts';
import { copyStore } from './copy-store.ts';
import { reportProblems } from './problems.ts';

const usage = `Usage: counterfoil store <command>

  init             make the tables of the service in DynamoDB, where they are missing
  copy             copy everything from one store to another, and compare the two; stop the service first
    --from STORE     lmdb (the data folder of the settings), lmdb:FOLDER or dynamodb (as the settings say)
    --to STORE       the same; must be empty
    --into-existing  it need not be: what it has stays as it is, and must not contradict
                   ended before its time, the same command goes on where it was
`;

const words = {
  there: 'is there, and is left as it is',
  made: 'made; this engine has no point-in-time recovery',
  'made recoverable': 'made, with point-in-time recovery',
} as const;

/** `counterfoil store`: exit 0, 1 when a copy is not the same as its source, 2 when it could not be done. */
export async function store(args: readonly string[]): Promise<void> {
  const [command, ...rest] = args;
  try {
    if (command === 'init') await init(rest);
    else if (command === 'copy') await copyStore(rest);
    else {
      process[command === 'help' || command === undefined ? 'stdout' : 'stderr'].write(usage);
      if (command !== 'help' && command !== undefined) process.exitCode = 2;
    }
  } catch (error) {
    reportProblems(error);
  }
}

async function init(args: readonly string[]): Promise<void> {
  parseArgs({ args: [...args], options: {} });
  const settings = loadSettings({ env: process.env, file: 'counterfoil.json', simulate: false });
  for (const { table, state } of await initStore(settings))
    process.stdout.write(`${table}: ${words[state]}\n`);
}
