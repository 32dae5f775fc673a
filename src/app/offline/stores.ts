import { openLog } from '../../log.ts';
import { readKeyNotes } from '../../secrets/key-notes.ts';
import { tablePolicy } from '../../settings/load.ts';
import type { Settings } from '../../settings/schema.ts';
import { type Copied, type CopyOptions, copyStore } from '../../storage/copying/copy.ts';
import { openStoreAt, renewStore, type StorePlace } from '../adapters.ts';

export interface Moving extends Pick<CopyOptions, 'isIntoExisting' | 'progress'> {
  readonly from: StorePlace;
  readonly to: StorePlace;
}

export interface Moved extends Copied {
  /** Ids of the master keys that its secrets may need; empty if no service has run on it. */
  readonly masterKeyIds: readonly string[];
  /** Tables that a service on the target would not serve, because the settings do not declare them. */
  readonly undeclared: readonly string[];
}

/** Copies one store to another (`copyStore`). No service should have either open. Throws SettingsError. */
export async function moveStore(settings: Settings, { from, to, ...options }: Moving): Promise<Moved> {
  const log = openLog('error');
  const source = await openStoreAt(settings, from, { isMade: false, log });
  try {
    const target = await openStoreAt(settings, to, { isMade: true, log });
    try {
      const copied = await copyStore({ ...options, source, target });
      const tables = tablePolicy({ ...settings, store: to.kind }) === 'declared' ? copied.tables : [];
      const undeclared = tables.filter((table) => !settings.tables.declared.includes(table));
      const notes = await readKeyNotes(source.engine);
      return { ...copied, undeclared, masterKeyIds: notes.map(({ keyId }) => keyId) };
    } finally {
      await target.engine.close();
      await renewStore(to);
    }
  } finally {
    await source.engine.close();
    log.flush();
  }
}
