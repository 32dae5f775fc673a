import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import type { Settings } from '../settings/schema.ts';
import { commandSettings, describe } from './command.ts';
import { workersMax } from './limits.ts';
import { UsageError } from './problems.ts';
import { readyLine } from './ready-line.ts';

interface ServeOptions {
  readonly simulate?: boolean;
  readonly workers?: number;
}

/** `counterfoil serve`: runs until SIGTERM or SIGINT. Exits with 2 on invalid settings, and lists all of them. */
export function defineServe(command: Command): void {
  describe(command, {
    description:
      'Serve payments, tables and sign-in until SIGTERM or SIGINT, then finish running requests and exit within 10 seconds.',
    examples: ['serve --simulate', 'serve --workers auto'],
    json: 'none',
  })
    .option('--simulate', 'with a payment processor that moves no money')
    .option(
      '--workers <count>',
      'in so many processes on one port and one data folder; auto: one for each core',
      countOfWorkers,
    )
    .action(serve);
}

/** `counterfoil worker`: one process of `serve --workers`. Only that command starts it. */
export function defineWorker(command: Command): void {
  describe(command, {
    description: 'Serve as one process of "serve --workers", which starts it.',
    examples: ['serve --workers 2'],
    json: 'none',
  })
    .option('--simulate', 'with a payment processor that moves no money')
    .option('--processes <count>', 'how many processes there are', countOfWorkers)
    .action(work);
}

async function serve({ simulate = false, workers: count = 1 }: ServeOptions): Promise<void> {
  const settings = await commandSettings(simulate);
  if (count === 1) await serveAlone(settings, simulate);
  else await (await import('./workers.ts')).serveByWorkers(settings, { simulate, count });
}

async function work({
  simulate = false,
  processes: count = 1,
}: {
  readonly simulate?: boolean;
  readonly processes?: number;
}): Promise<void> {
  try {
    const settings = await commandSettings(simulate);
    await (await import('./workers.ts')).serveAsWorker(settings, { simulate, count });
  } catch (error) {
    // The open channel to the parent process would keep this one alive.
    process.disconnect?.();
    throw error;
  }
}

function countOfWorkers(text: string): number {
  if (text === 'auto') return Math.min(availableParallelism(), workersMax);
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= workersMax) return count;
  throw new UsageError(`--workers: must be "auto" or a number from 1 to ${workersMax}`);
}

async function serveAlone(settings: Settings, simulate: boolean): Promise<void> {
  const { startService } = await import('../app/service.ts');
  const service = await startService(settings, { simulate });
  process.stdout.write(readyLine(service, { simulate, count: 1 }));
  const stop = () => {
    // A second signal exits at once.
    process.once('SIGTERM', () => process.exit(1)).once('SIGINT', () => process.exit(1));
    void service.stop().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop).once('SIGINT', stop);
}
