import { resolve } from 'node:path';
import type { Command } from 'commander';
import { BackupFailed } from '../backup/target.ts';
import { describe, type JsonOption } from './command.ts';
import { commandSettings } from './command-settings.ts';
import { moment } from './option-values.ts';
import { hint, printResult } from './output/print.ts';
import { ProgressBar } from './output/progress-bar.ts';
import { WorkFailed } from './problems.ts';

/** `counterfoil restore`. */
export function defineRestore(command: Command): void {
  describe(command, {
    description:
      'Put a backup into the data folder of the settings, which must be empty, and shut payments until payments reconcile --adopt.',
    examples: [
      'restore /backup/counterfoil',
      'restore s3://bucket/counterfoil --at 2026-11-21T10:00:00Z',
      'restore /backup/counterfoil/counterfoil-2026-11-21T10-00-00-000Z',
    ],
  })
    .argument(
      '<backup>',
      'a folder or s3://bucket/prefix with backups, of which the newest state is taken, or one backup in it',
    )
    .option(
      '--at <time>',
      'the state of this moment, from the last backup before it and the segments of continuous backup',
      moment('--at'),
    )
    .action(restore);
}

interface RestoreCommandOptions extends JsonOption {
  readonly at?: number;
}

async function restore(from: string, { json, at }: RestoreCommandOptions): Promise<void> {
  const settings = await commandSettings();
  const { restoreData } = await import('../app/offline/restore.ts');
  const bar = new ProgressBar();
  const progress = (done: number, total: number) => bar.show(done, total, 'verifying');
  const restored = await restoreData(settings, { from, at, progress })
    .catch((error: unknown) => {
      throw error instanceof BackupFailed ? new WorkFailed(error.code, error.message) : error;
    })
    .finally(() => bar.clear());
  const { manifest, at: time, position, replayed } = restored;
  const { name } = manifest;
  printResult(json, { name, time, position, replayed, are_payments_shut: true }, [
    `${name}${replayed > 0 ? ` and ${replayed} commits after it` : ''}: restored to ${resolve(settings.data)}`,
    `the last commit is ${position}, of ${time}`,
  ]);
  if (!json)
    hint(
      'Payments are shut: charges since then are missing here. Start with the same master key, and run counterfoil payments reconcile --adopt.',
    );
}
