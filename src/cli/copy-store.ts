import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { StorePlace } from '../app/adapters.ts';
import { masterKeySource } from '../app/offline/secrets.ts';
import { type Moved, moveStore } from '../app/offline/stores.ts';
import { ServiceError, SettingsError } from '../errors.ts';
import { isKeyFile, sourceName } from '../secrets/open-sealer.ts';
import type { Settings } from '../settings/schema.ts';
import { commandSettings } from './command.ts';
import { ProgressBar } from './progress-bar.ts';

/** `counterfoil store copy`: exits with 0, or with 1 if the two stores differ at the end. Throws SettingsError. */
export async function copyStore(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      from: { type: 'string' },
      to: { type: 'string' },
      'into-existing': { type: 'boolean', default: false },
    },
  });
  const settings = commandSettings();
  const from = placeOf('--from', values.from, settings);
  const to = placeOf('--to', values.to, settings);
  const bar = new ProgressBar();
  const moved = await moveStore(settings, {
    ...{ from, to, isIntoExisting: values['into-existing'] },
    progress: (stage, items, total) => bar.show(items, total, stage),
  })
    .catch(asSettingsError)
    .finally(() => bar.clear());
  report(moved, settings, { from, to });
}

function asSettingsError(error: unknown): never {
  if (!(error instanceof ServiceError)) throw error;
  const { message, details } = error;
  throw new SettingsError([
    `${message} (${details.detail ?? error.code}) Run the same command again to continue.`,
  ]);
}

function placeOf(option: string, text: string | undefined, { data }: Settings): StorePlace {
  if (text === 'dynamodb') return { kind: 'dynamodb' };
  if (text === 'lmdb') return { kind: 'lmdb', folder: resolve(data) };
  if (text?.startsWith('lmdb:') && text.length > 'lmdb:'.length)
    return { kind: 'lmdb', folder: resolve(text.slice('lmdb:'.length)) };
  throw new SettingsError([
    `${option}: must be lmdb (the data folder of the settings), lmdb:FOLDER or dynamodb (as the settings say)`,
  ]);
}

function report(
  { items, spaces, differences, masterKeyIds, undeclared }: Moved,
  settings: Settings,
  { from, to }: { readonly from: StorePlace; readonly to: StorePlace },
): void {
  for (const difference of differences) process.stdout.write(`${difference}\n`);
  if (differences.length > 0) {
    process.stdout.write(
      'the copy is not identical: was the service stopped? Copy again to an empty target\n',
    );
    process.exitCode = 1;
    return;
  }
  process.stdout.write(`${items} items of ${spaces} spaces copied and verified\n`);
  if (masterKeyIds.length > 0) process.stdout.write(masterKeyHint(masterKeyIds, settings, from, to));
  if (undeclared.length > 0)
    process.stdout.write(
      `declare these tables (COUNTERFOIL_DECLARED_TABLES), or they are not served: ${undeclared.join(',')}\n`,
    );
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
  return `secrets stay sealed by master key ${keyIds.join(', ')}, which was not copied: ${where}; ${task}\n`;
}
