import { resolve } from 'node:path';
import type { Command } from 'commander';
import { BackupFailed } from '../backup/target.ts';
import { describe, type JsonOption } from './command.ts';
import { commandSettings } from './command-settings.ts';
import { moment, wholeNumber } from './option-values.ts';
import { hint, printResult } from './output/print.ts';
import { ProgressBar } from './output/progress-bar.ts';
import { UsageError, WorkFailed } from './problems.ts';

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
    .option(
      '--position <commit>',
      'the state after the commit with this number, for when a wrong clock gave commits wrong times',
      wholeNumber('--position'),
    )
    .option('--store <id>', 'the store to restore, if the target has backups of several')
    .option(
      '--accept-missing',
      'if something is damaged or missing, restore the last state before it, and print what is missing',
    )
    .action(restore);
}

interface RestoreCommandOptions extends JsonOption {
  readonly at?: number;
  readonly position?: number;
  readonly store?: string;
  readonly acceptMissing?: boolean;
}

async function restore(
  from: string,
  { json, at, position: until, store, acceptMissing }: RestoreCommandOptions,
): Promise<void> {
  if (at !== undefined && until !== undefined)
    throw new UsageError('restore: --at and --position are two ways to say the same; give one of them');
  const settings = await commandSettings();
  const { restoreData } = await import('../app/restore.ts');
  const bar = new ProgressBar();
  const progress = (done: number, total: number) => bar.show(done, total, 'verifying');
  const wanted = { at, position: until, store, acceptsMissing: acceptMissing };
  const restored = await restoreData(settings, { from, ...wanted, progress })
    .catch((error: unknown) => {
      throw error instanceof BackupFailed ? new WorkFailed(error.code, error.message) : error;
    })
    .finally(() => bar.clear());
  const { manifest, at: time, position, replayed, missing, notes } = restored;
  const { name, store_id } = manifest;
  const facts = { name, store_id, time, position, replayed, missing, notes };
  printResult(json, { ...facts, are_payments_shut: true }, [
    `${name}${replayed > 0 ? ` and ${replayed} commits after it` : ''}: restored to ${resolve(settings.data)}`,
    `the last commit is ${position}, of ${time}`,
    ...missing.map((each) => `missing: ${each}`),
    ...notes.map((each) => `not needed: ${each}`),
  ]);
  if (json) return;
  hint(
    'Payments are shut: charges since then are missing here. Start with the same master key, and run counterfoil payments reconcile --adopt.',
  );
  hint(
    'The target still belongs to the old store. When that one is stopped for good, run counterfoil backup TARGET --take-over.',
  );
}
