import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import { describe } from './command.ts';
import { UsageError } from './problems.ts';
import type { ServeOptions, WorkerOptions } from './serving.ts';

/** Processes of one service: more than the cores of any suitable machine. */
const workersMax = 128;

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
    .action(async (options: ServeOptions) => (await import('./serving.ts')).serve(options));
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
    .option('--origin <url>', 'where the others serve: it listens when it is ready')
    .option('--payment-origin <url>', 'where the others serve payments')
    .action(async (options: WorkerOptions) => (await import('./serving.ts')).work(options));
}

function countOfWorkers(text: string): number {
  if (text === 'auto') return Math.min(availableParallelism(), workersMax);
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= workersMax) return count;
  throw new UsageError(`--workers: must be "auto" or a number from 1 to ${workersMax}`);
}
