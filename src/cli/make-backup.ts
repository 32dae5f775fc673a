import { resolve } from 'node:path';
import { existingStore } from '../app/adapters.ts';
import { backupsIn, makeBackup, openTarget } from '../app/backups/adapters.ts';
import { lowerPriority } from '../app/backups/run-snapshot.ts';
import { masterKeySource } from '../app/offline/secrets.ts';
import { BackupFailed, type BackupTarget } from '../backup/target.ts';
import { isKeyFile, sourceName } from '../secrets/open-sealer.ts';
import type { Settings } from '../settings/schema.ts';
import type { JsonOption } from './command.ts';
import { commandSettings } from './command-settings.ts';
import { hint, printListing, printResult } from './output/print.ts';
import { ProgressBar } from './output/progress-bar.ts';
import type { Column } from './output/table.ts';
import { UsageError, WorkFailed } from './problems.ts';

export interface BackupCommandOptions extends JsonOption {
  readonly list?: boolean;
  readonly keep?: number;
  readonly takeOver?: boolean;
}

type Backup = Awaited<ReturnType<typeof backupsIn>>[number];

/** `counterfoil backup`: exits with 0, or with 1 if no backup could be made; then none is listed. */
export async function backup(target: string, options: BackupCommandOptions): Promise<void> {
  if (options.list && (options.keep !== undefined || options.takeOver))
    throw new UsageError('backup: --list changes nothing, so it takes neither --keep nor --take-over');
  const settings = await commandSettings();
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
