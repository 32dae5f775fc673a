import { parseArgs } from 'node:util';
import { verifyData } from '../app/adapters.ts';
import { loadSettings } from '../settings/load.ts';
import { reportProblems } from './problems.ts';
import { ProgressBar } from './progress-bar.ts';

/** `counterfoil verify`: exit 0 when the store is whole, 1 when it is not, each problem a line; 2 when it cannot be read. */
export async function verify(args: readonly string[]): Promise<void> {
  try {
    parseArgs({ args: [...args], options: {} });
    const settings = loadSettings({ env: process.env, file: 'counterfoil.json', simulate: false });
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
