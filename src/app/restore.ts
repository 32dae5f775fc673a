import { resolve } from 'node:path';
import { SettingsError } from '../errors.ts';
import { PaymentsLock } from '../payments/payments.ts';
import type { Settings } from '../settings/schema.ts';
import { type Recovered, recoverStore, requireEmbedded, simulatedLedger } from './adapters.ts';
import { isBackupName, openTarget, restoreBackup } from './backups/adapters.ts';

export interface RestoreRequest {
  /** A target, whose newest state is restored, or a backup in it. */
  readonly from: string;
  /** The state of this moment, in milliseconds since 1970. */
  readonly at?: number | undefined;
  /** The state after this commit. */
  readonly position?: number | undefined;
  /** The id of the store, if the target has several. */
  readonly store?: string | undefined;
  /** Whether to restore less if something is damaged or missing. */
  readonly acceptsMissing?: boolean | undefined;
  readonly progress: (done: number, total: number) => void;
}

/** Restores a backup into the empty data folder of the settings, and shuts payments in it. Throws as `restoreBackup` does. */
export async function restoreData(
  settings: Settings,
  { from, progress, ...wanted }: RestoreRequest,
): ReturnType<typeof restoreBackup> {
  requireEmbedded(settings);
  const [, parent, last = ''] = /^(.*[^/])\/+([^/]+)\/?$/.exec(from) ?? [];
  const name = isBackupName(last) ? last : undefined;
  const { at, position, store: storeId } = wanted;
  if (name !== undefined && (at ?? position ?? storeId) !== undefined)
    throw new SettingsError([
      `--at, --position and --store: need the target, and not the backup ${name} in it`,
    ]);
  const target = await openTarget(settings, name === undefined ? from : (parent ?? '.'));
  try {
    return await restoreBackup(target, resolve(settings.data), {
      ...wanted,
      name,
      // The ledger of the simulated processor may already be in the folder.
      others: [simulatedLedger],
      progress,
      prepare: (engine, { manifest, at: snapshotAt }) =>
        new PaymentsLock(engine).shut({
          snapshotAt,
          restoredAt: new Date().toISOString(),
          backup: manifest.name,
        }),
    });
  } finally {
    target.close();
  }
}

export interface RecoveredData extends Recovered {
  /** Whether payments are shut, because some may be lost: a request would charge a lost payment again. */
  readonly arePaymentsShut: boolean;
}

/**
 * Saves what can be read of the store in a data folder into a new one in an empty folder. Throws as `recoverStore` does.
 *
 * @param progress called with the number of items saved so far, and their total
 */
export async function recoverData(
  from: string,
  to: string,
  progress: (items: number, total: number) => void,
): Promise<RecoveredData> {
  let arePaymentsShut = false;
  const recovered = await recoverStore(from, to, {
    progress,
    prepare: async (engine, found) => {
      arePaymentsShut = mayLackPayments(found);
      const now = new Date().toISOString();
      if (arePaymentsShut)
        await new PaymentsLock(engine).shut({ snapshotAt: now, restoredAt: now, backup: 'recover' });
    },
  });
  return { ...recovered, arePaymentsShut };
}

function mayLackPayments({ problems, spaces }: Recovered): boolean {
  const isLacking = spaces.some(
    ({ space, items, expected }) => space.startsWith('service:') && items !== expected,
  );
  return problems.length > 0 || isLacking;
}
