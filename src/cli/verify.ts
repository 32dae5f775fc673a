import { parseArgs } from 'node:util';
import { verifyData } from '../adapters.ts';
import { loadSettings } from '../settings/load.ts';
import { reportProblems } from './problems.ts';

const progressMs = 100;
const barWidth = 30;

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

/** On a terminal alone. */
class ProgressBar {
  readonly #isShown = process.stderr.isTTY;
  #nextAt = performance.now();

  show(done: number, total: number): void {
    if (!this.#isShown || performance.now() < this.#nextAt) return;
    this.#nextAt = performance.now() + progressMs;
    const share = total === 0 ? 1 : Math.min(1, done / total);
    const filled = Math.round(share * barWidth);
    const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled);
    process.stderr.write(`\r${bar} ${Math.floor(share * 100)} % of ${total} items`);
  }

  clear(): void {
    if (this.#isShown) process.stderr.write('\r\x1b[K');
  }
}
