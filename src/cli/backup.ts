import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { backupsIn } from '../app/backups/adapters.ts';
import type { BackupTarget } from '../backup/target.ts';
import type { Settings } from '../settings/schema.ts';
import { describe, type JsonOption } from './command.ts';
import { commandSettings } from './command-settings.ts';
import { moment, wholeNumber } from './option-values.ts';
import { hint, printListing, printResult } from './output/print.ts';
import { withProgress } from './output/progress-bar.ts';
import type { Column } from './output/table.ts';
import { UsageError } from './problems.ts';

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
    import('../app/domains.ts'),
    import('../secrets/master-keys.ts'),
  ]);
  lowerPriority();
  const { deleted, ...made } = await withProgress(
    (progress) => makeBackup(existingStore(settings), target, { keep, takesOver, progress }),
    'verifying',
  );
  const source = masterKeySource(settings);
  const place = isKeyFile(source) ? resolve(sourceName(source)) : sourceName(source);
  printResult(json, { ...made, deleted, master_key: place }, [
    `${made.name}: ${itemCount(made)} items, ${made.bytes} bytes, verified`,
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
    { title: 'AGE', cell: ({ time }) => age(time, now), align: 'right' },
    { title: 'ITEMS', cell: (made) => `${itemCount(made)}`, align: 'right' },
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
function itemCount({ counts: { tables: _tables, ...counts } }: Backup): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function secondsSince(time: string, now: number): number {
  return Math.max(0, Math.round((now - Date.parse(time)) / 1_000));
}

/** In the largest unit that fits: `3d`, `5h`, `12m`, `40s`. */
function age(time: string, now: number): string {
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
  const wanted = { from, at, position: until, store, acceptsMissing: acceptMissing };
  const restored = await withProgress(
    (progress) => restoreData(settings, { ...wanted, progress }),
    'verifying',
  );
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
