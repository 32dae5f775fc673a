import { resolve } from 'node:path';
import type { StorePlace } from '../app/adapters.ts';
import { masterKeySource } from '../app/domains.ts';
import { type Moved, moveStore } from '../app/offline.ts';
import { ServiceError } from '../errors.ts';
import { isKeyFile, sourceName } from '../secrets/master-keys.ts';
import type { Settings } from '../settings/schema.ts';
import type { JsonOption } from './command.ts';
import { commandSettings } from './command-settings.ts';
import { printResult } from './output/print.ts';
import { ProgressBar } from './output/progress-bar.ts';
import { UsageError, WorkFailed } from './problems.ts';

export interface CopyOptions extends JsonOption {
  readonly from: string;
  readonly to: string;
  readonly intoExisting?: boolean;
}

/** `counterfoil store copy`: exits with 0, or with 1 if the two stores differ at the end. Throws SettingsError. */
export async function copyStore({ json, intoExisting = false, ...options }: CopyOptions): Promise<void> {
  const settings = await commandSettings();
  const from = parseStore('--from', options.from, settings);
  const to = parseStore('--to', options.to, settings);
  const bar = new ProgressBar();
  const moved = await moveStore(settings, {
    ...{ from, to, isIntoExisting: intoExisting },
    progress: (stage, items, total) => bar.show(items, total, stage),
  })
    .catch(asWorkFailed)
    .finally(() => bar.clear());
  const { items, spaces, differences, masterKeyIds, undeclared } = moved;
  printResult(
    json,
    {
      is_identical: differences.length === 0,
      ...{ items, spaces, differences, undeclared_tables: undeclared, master_keys: masterKeyIds },
    },
    resultLines(moved, settings, { from, to }),
  );
  if (differences.length > 0) process.exitCode = 1;
}

function asWorkFailed(error: unknown): never {
  if (!(error instanceof ServiceError)) throw error;
  const { message, details, code } = error;
  throw new WorkFailed(
    code,
    `${message} (${details.detail ?? code}) Run the same command again to continue.`,
  );
}

function parseStore(option: string, text: string, { data }: Settings): StorePlace {
  if (text === 'dynamodb') return { kind: 'dynamodb' };
  if (text === 'lmdb') return { kind: 'lmdb', folder: resolve(data) };
  if (text.startsWith('lmdb:') && text.length > 'lmdb:'.length)
    return { kind: 'lmdb', folder: resolve(text.slice('lmdb:'.length)) };
  throw new UsageError(
    `${option}: must be lmdb (the data folder of the settings), lmdb:FOLDER or dynamodb (as the settings say)`,
  );
}

function resultLines(
  { items, spaces, differences, masterKeyIds, undeclared }: Moved,
  settings: Settings,
  { from, to }: { readonly from: StorePlace; readonly to: StorePlace },
): readonly string[] {
  if (differences.length > 0)
    return [
      ...differences,
      'the copy is not identical: was the service stopped? Copy again to an empty target',
    ];
  const lines = [`${items} items of ${spaces} spaces copied and verified`];
  if (masterKeyIds.length > 0) lines.push(masterKeyHint(masterKeyIds, settings, from, to));
  if (undeclared.length > 0)
    lines.push(
      `declare these tables (COUNTERFOIL_DECLARED_TABLES), or they are not served: ${undeclared.join(',')}`,
    );
  return lines;
}

/** What to do with the master key: a copy has the sealed secrets unchanged. */
function masterKeyHint(
  keyIds: readonly string[],
  settings: Settings,
  from: StorePlace,
  to: StorePlace,
): string {
  const source = masterKeySource(settings);
  const [file, place] = [from, to].map(
    (at) => `${at.kind === 'lmdb' ? at.folder : resolve(settings.data)}.key`,
  );
  const where = isKeyFile(source) ? file : sourceName(source);
  const task =
    isKeyFile(source) && file !== place
      ? `copy it to ${place}, or give it as COUNTERFOIL_MASTER_KEY`
      : 'start the service with it';
  return `secrets stay sealed by master key ${keyIds.join(', ')}, which was not copied: ${where}; ${task}`;
}
