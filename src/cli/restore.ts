import { resolve } from 'node:path';
import type { Command } from 'commander';
import { describe, type JsonOption } from './command.ts';
import { commandSettings } from './command-settings.ts';
import { hint, printResult } from './output/print.ts';
import { ProgressBar } from './output/progress-bar.ts';

/** `counterfoil restore`. */
export function defineRestore(command: Command): void {
  describe(command, {
    description:
      'Put a backup into the data folder of the settings, which must be empty, and shut payments until payments reconcile --adopt.',
    examples: [
      'restore /backup/counterfoil',
      'restore /backup/counterfoil/counterfoil-2026-11-21T10-00-00-000Z',
    ],
  })
    .argument('<backup>', 'a folder of backups, of which the newest is taken, or one backup in it')
    .action(restore);
}

async function restore(from: string, { json }: JsonOption): Promise<void> {
  const settings = await commandSettings();
  const { restoreData } = await import('../app/offline/restore.ts');
  const bar = new ProgressBar();
  const progress = (done: number, total: number) => bar.show(done, total, 'verifying');
  const restored = await restoreData(settings, resolve(from), progress).finally(() => bar.clear());
  const { name, time, position, counts } = restored;
  printResult(json, { name, time, position, counts, are_payments_shut: true }, [
    `${name}: restored to ${resolve(settings.data)}, the state of ${time}`,
  ]);
  if (!json)
    hint(
      'Payments are shut: charges since then are missing here. Start with the same master key, and run counterfoil payments reconcile --adopt.',
    );
}
