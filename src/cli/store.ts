import { parseArgs } from 'node:util';
import { initStore } from '../adapters.ts';
import { loadSettings } from '../settings/load.ts';
import { reportProblems } from './problems.ts';

const usage = `Usage: counterfoil store <command>

  init    make the tables of the service in DynamoDB, where they are missing
`;

const words = {
  there: 'is there, and is left as it is',
  made: 'made; this engine has no point-in-time recovery',
  'made recoverable': 'made, with point-in-time recovery',
} as const;

/** `counterfoil store`: exit 0, 2 when it could not be done. */
export async function store(args: readonly string[]): Promise<void> {
  const [command, ...rest] = args;
  try {
    if (command === 'init') await init(rest);
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
