import type { Command } from 'commander';
import { describe, type JsonOption } from './command.ts';
import { commandSettings } from './command-settings.ts';
import { printResult } from './output/print.ts';
import { ProgressBar } from './output/progress-bar.ts';
import { WorkFailed } from './problems.ts';

/** `counterfoil compact`: exits with 0, or with 1 if the file could not be compacted; then it is unchanged. */
export function defineCompact(command: Command): void {
  describe(command, {
    description:
      'Give the free space in the file of the embedded store back to the disk. Stop the service first. The disk needs room for a ' +
      'second copy of the data while this runs.',
    examples: ['compact', 'compact --json'],
  }).action(compact);
}

async function compact({ json }: JsonOption): Promise<void> {
  const settings = await commandSettings();
  const { compactFile, existingStore } = await import('../app/adapters.ts');
  const { BackupFailed } = await import('../backup/target.ts');
  const bar = new ProgressBar();
  const progress = (done: number, total: number) => bar.show(done, total, 'verifying');
  const { bytesBefore, bytesAfter } = await compactFile(existingStore(settings), progress)
    .catch((error: unknown) => {
      throw error instanceof BackupFailed ? new WorkFailed(error.code, error.message) : error;
    })
    .finally(() => bar.clear());
  printResult(json, { bytes_before: bytesBefore, bytes_after: bytesAfter }, [
    `the file of the store has ${bytesAfter} bytes; it had ${bytesBefore}`,
  ]);
}
