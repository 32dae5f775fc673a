import type { Command } from 'commander';
import { describe } from './command.ts';
import { wholeNumber } from './option-values.ts';

/** `counterfoil backup`. */
export function defineBackup(command: Command): void {
  describe(command, {
    description:
      'Copy one snapshot of the embedded store to a folder or a bucket, and verify the copy. Works while the service is running. ' +
      'It does not copy the master key: keep that elsewhere.',
    examples: [
      'backup /backup/counterfoil --keep 7',
      'backup s3://bucket/counterfoil',
      'backup /backup/counterfoil --list',
    ],
  })
    .argument('<target>', 'the folder of the backups, made if it is missing, or s3://bucket/prefix')
    .option(
      '--keep <count>',
      'delete the oldest backups beyond this number, after the new one is good',
      wholeNumber('--keep'),
    )
    .option(
      '--take-over',
      'make this store the owner of the target, in place of the store that it belongs to: that one makes no backups there any more',
    )
    .option('--list', 'make no backup: list those of the target, by store and in the order of their commits')
    .action(async (target, options) => (await import('./make-backup.ts')).backup(target, options));
}
