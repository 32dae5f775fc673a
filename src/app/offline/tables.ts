import { openLog } from '../../log.ts';
import type { Settings } from '../../settings/schema.ts';
import { checkIsWhole } from '../../storage/copying/marker.ts';
import type { Tables } from '../../tables/tables.ts';
import { existingStore, openEngine } from '../adapters.ts';
import { openTables } from '../domains.ts';

export interface OfflineTables {
  readonly tables: Tables;
  close(): Promise<void>;
}

/** Opens the tables of a data folder for a command. The service may be running. Throws SettingsError. */
export async function openOfflineTables(settings: Settings): Promise<OfflineTables> {
  const log = openLog('error');
  if (settings.store === 'lmdb') existingStore(settings);
  const engine = await openEngine(settings, log);
  const close = async () => {
    await engine.close();
    log.flush();
  };
  try {
    await checkIsWhole(engine);
    return { tables: openTables(settings, engine), close };
  } catch (error) {
    await close();
    throw error;
  }
}
