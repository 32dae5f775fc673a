import { resolve } from 'node:path';
import { SettingsError } from '../../errors.ts';
import { shutPayments } from '../../payments/restored.ts';
import type { Settings } from '../../settings/schema.ts';
import { restoreBackup } from '../adapters.ts';

/** The records of the simulated processor are not part of the store: they may be put into the folder before. */
const ledger = 'simulated-ledger.jsonl';

/** Restores a backup into the empty data folder of the settings, and shuts payments in it. Throws as `restoreBackup` does. */
export function restoreData(
  { store, data }: Settings,
  from: string,
  progress: (done: number, total: number) => void,
): ReturnType<typeof restoreBackup> {
  if (store !== 'lmdb')
    throw new SettingsError(['store (COUNTERFOIL_STORE): this command needs the embedded store']);
  return restoreBackup(from, resolve(data), {
    others: [ledger],
    progress,
    prepare: (engine, { name, time }) =>
      shutPayments(engine, { snapshotAt: time, restoredAt: new Date().toISOString(), backup: name }),
  });
}
