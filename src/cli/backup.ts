import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { backupsIn } from '../app/backups/adapters.ts';
import { BackupFailed, type BackupTarget } from '../backup/target.ts';
import type { Settings } from '../settings/schema.ts';
import type { JsonOption } from './command.ts';
import { describe } from './command.ts';
import { commandSettings } from './command-settings.ts';
import { wholeNumber } from './option-values.ts';
import { hint, printListing, printResult } from './output/print.ts';
import { ProgressBar } from './output/progress-bar.ts';
import type { Column } from './output/table.ts';
import { UsageError, WorkFailed } from './problems.ts';

interface BackupCommandOptions extends JsonOption {
  readonly list?: boolean;
  readonly keep?: number;
  readonly takeOver?: boolean;
}

type Backup = Awaited<ReturnType<typeof backupsIn>>[number];

/** `counterfoil backup`: exits with 0, or with 1 if no backup could be made; then none is listed. */
async function backup(target: string, options: BackupCommandOptions): Promise<void> {
  if (options.list && (options.keep !== undefined || options.takeOver))
    throw new UsageError('backup: --list changes nothing, so it takes neither --keep nor --take-over');
  const settings = await commandSettings();
  const { openTarget } = await import('../app/backups/adapters.ts');
  const opened = await openTarget(settings, target);
  try {
    await (options.list ? list(opened, options) : make(settings, opened, options));
  } catch (error) {
    throw error instanceof BackupFailed ? new WorkFailed(error.code, error.message) : error;
  } finally {
    opened.close();
  }
}

async function make(
  settings: Settings,
  target: BackupTarget,
  { json, keep, takeOver: takesOver = false }: BackupCommandOptions,
): Promise<void> {
  const [
    { existingStore },
    { makeBackup },
    { lowerPriority },
    { masterKeySource },
    { isKeyFile, sourceName },
  ] = await Promise.all([
    import('../app/adapters.ts'),
    import('../app/backups/adapters.ts'),
    import('../app/backups/run-snapshot.ts'),
    import('../app/secrets.ts'),
    import('../secrets/open-sealer.ts'),
  ]);
  lowerPriority();
  const bar = new ProgressBar();
  const progress = (done: number, total: number) => bar.show(done, total, 'verifying');
  const options = { keep, takesOver, progress };
  const { deleted, ...made } = await makeBackup(existingStore(settings), target, options).finally(() =>
    bar.clear(),
  );
  const source = masterKeySource(settings);
  const place = isKeyFile(source) ? resolve(sourceName(source)) : sourceName(source);
  printResult(json, { ...made, deleted, master_key: place }, [
    `${made.name}: ${itemsOf(made)} items, ${made.bytes} bytes, verified`,
    ...deleted.map((name) => `${name}: deleted`),
  ]);
  if (!json)
    hint(`The master key is not in the backup. It comes from ${place}: keep a copy of it elsewhere.`);
}

async function list(target: BackupTarget, { json }: BackupCommandOptions): Promise<void> {
  const { backupsIn } = await import('../app/backups/adapters.ts');
  const now = Date.now();
  const columns: readonly Column<Backup>[] = [
    { title: 'BACKUP', cell: ({ name }) => name },
    { title: 'AGE', cell: ({ time }) => ageOf(time, now), align: 'right' },
    { title: 'ITEMS', cell: (made) => `${itemsOf(made)}`, align: 'right' },
    { title: 'BYTES', cell: ({ bytes }) => `${bytes}`, align: 'right' },
    { title: 'POSITION', cell: ({ position }) => `${position}`, align: 'right' },
    { title: 'STORE', cell: ({ store_id }) => store_id },
  ];
  await printListing(await backupsIn(target), {
    ...{ json, columns, none: 'No backups.' },
    toJson: (made) => ({ ...made, age_seconds: secondsSince(made.time, now) }),
  });
}

/** All items, those of the service included. */
function itemsOf({ counts: { tables: _tables, ...counts } }: Backup): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function secondsSince(time: string, now: number): number {
  return Math.max(0, Math.round((now - Date.parse(time)) / 1_000));
}

/** In the largest unit that fits: `3d`, `5h`, `12m`, `40s`. */
function ageOf(time: string, now: number): string {
  const seconds = secondsSince(time, now);
  const units = [
    ['d', 86_400],
    ['h', 3_600],
    ['m', 60],
  ] as const;
  const [unit, length] = units.find(([, each]) => seconds >= each) ?? ['s', 1];
  return `${Math.floor(seconds / length)}${unit}`;
}

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
    .action(backup);
}
