import { parseArgs } from 'node:util';
import { verifyData } from '../app/adapters.ts';
import { commandSettings } from './command.ts';
import { reportProblems } from './problems.ts';
import { ProgressBar } from './progress-bar.ts';

/** `counterfoil verify`: exits with 0 if the store is whole, with 1 if it has problems (one a line), with 2 if unreadable. */
export async function verify(args: readonly string[]): Promise<void> {
  try {
    parseArgs({ args: [...args], options: {} });
    const settings = commandSettings();
    const bar = new ProgressBar();
    const { items, problems } = await verifyData(settings, (done, total) => bar.show(done, total));
    bar.clear();
    for (const problem of problems) process.stdout.write(`${problem}\n`);
    const verdict = problems.length === 0 ? 'the store is whole' : 'the store is damaged';
    process.stdout.write(`${items} items: ${verdict}\n`);
    process.exitCode = problems.length === 0 ? 0 : 1;
  } catch (error) {
    reportProblems(error);
  }
}
