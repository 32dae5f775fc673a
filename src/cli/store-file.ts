import type { Command } from 'commander';
import { damageAdvice } from '../errors.ts';
import { describe, type JsonOption } from './command.ts';
import { commandSettings } from './command-settings.ts';
import { hint, printResult } from './output/print.ts';
import { ProgressBar } from './output/progress-bar.ts';
import { WorkFailed } from './problems.ts';

/** `counterfoil verify`: exits with 0 if the store is whole, with 1 if it is damaged, with 2 if there is none. */
export function defineVerify(command: Command): void {
  describe(command, {
    description:
      'Read the whole store and print each damage. Exits with 1 if there is any. Works while the service is running.',
    examples: ['verify', 'verify --json'],
  }).action(verify);
}

async function verify({ json }: JsonOption): Promise<void> {
  const settings = await commandSettings();
  const { verifyData } = await import('../app/adapters.ts');
  const bar = new ProgressBar();
  const { items, problems } = await verifyData(settings, (done, total) => bar.show(done, total)).finally(() =>
    bar.clear(),
  );
  const isWhole = problems.length === 0;
  const verdict = `${items} items: ${isWhole ? 'the store is whole' : 'the store is damaged'}`;
  printResult(json, { is_whole: isWhole, items, problems }, [...problems, verdict]);
  if (isWhole) return;
  process.exitCode = 1;
  if (!json) hint(`What you can do: ${damageAdvice}.`);
}

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
