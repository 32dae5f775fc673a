import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { startService } from '../app/service.ts';
import { SettingsError } from '../errors.ts';
import { loadSettings } from '../settings/load.ts';
import type { Settings } from '../settings/schema.ts';
import { workersMax } from './limits.ts';
import { reportProblems } from './problems.ts';
import { readyLine } from './ready-line.ts';
import { serveAsWorker, serveByWorkers } from './workers.ts';

/** `counterfoil serve`: runs until SIGTERM or SIGINT. Exits with 2 on invalid settings, and lists all of them. */
export async function serve(args: readonly string[]): Promise<void> {
  try {
    const { simulate = false, workers = '1' } = parseArgs({
      args: [...args],
      options: { simulate: { type: 'boolean' }, workers: { type: 'string' } },
    }).values;
    const count = countOfWorkers(workers);
    const settings = loadSettings({ env: process.env, file: 'counterfoil.json', simulate });
    if (count > 1) await serveByWorkers(settings, { simulate, count });
    else await serveAlone(settings, simulate);
  } catch (error) {
    reportProblems(error);
  }
}

/** `counterfoil worker`: one process of `serve --workers`. Only that command starts it. */
export async function work(args: readonly string[]): Promise<void> {
  try {
    const options = {
      simulate: { type: 'boolean', default: false },
      processes: { type: 'string', default: '1' },
    } as const;
    const { simulate, processes } = parseArgs({ args: [...args], options }).values;
    const settings = loadSettings({ env: process.env, file: 'counterfoil.json', simulate });
    await serveAsWorker(settings, { simulate, count: countOfWorkers(processes) });
  } catch (error) {
    reportProblems(error);
    // The open channel to the parent process would keep this one alive.
    process.disconnect?.();
  }
}

function countOfWorkers(text: string): number {
  if (text === 'auto') return Math.min(availableParallelism(), workersMax);
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= workersMax) return count;
  throw new SettingsError([`--workers: must be "auto" or a number from 1 to ${workersMax}`]);
}

async function serveAlone(settings: Settings, simulate: boolean): Promise<void> {
  const service = await startService(settings, { simulate });
  process.stdout.write(readyLine(service, { simulate, count: 1 }));
  const stop = () => {
    // A second signal exits at once.
    process.once('SIGTERM', () => process.exit(1)).once('SIGINT', () => process.exit(1));
    void service.stop().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop).once('SIGINT', stop);
}
