import { openLog } from '../../log.ts';
import type { Settings } from '../../settings/schema.ts';
import { AccessEnding } from '../../sign-in/access-ending.ts';
import { Sessions } from '../../sign-in/sessions.ts';
import { Users } from '../../sign-in/users.ts';
import { checkIsWhole } from '../../storage/copying/marker.ts';
import { existingStore, openEngine } from '../adapters.ts';

export interface People {
  readonly users: Users;
  readonly sessions: Sessions;
  readonly accessEnding: AccessEnding;
  close(): Promise<void>;
}

/** Opens the users and sessions of a data folder for a command. The service may be running. Throws SettingsError. */
export async function openPeople(settings: Settings): Promise<People> {
  const log = openLog('error');
  if (settings.store === 'lmdb') existingStore(settings);
  const engine = await openEngine(settings, log);
  const close = async () => {
    await engine.close();
    log.flush();
  };
  try {
    await checkIsWhole(engine);
    return {
      users: new Users(engine, Date.now),
      sessions: new Sessions(engine, Date.now),
      accessEnding: new AccessEnding(engine, Date.now),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
