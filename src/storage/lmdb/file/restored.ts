import { openStore } from '../store.ts';
import { makeFormat } from './format.ts';

/**
 * Gives a store a new id, so that the ETags that it had name nothing any more. Call it after the content of a store was put in
 * place by other means than commits, or was copied. A process that has the store open keeps the old id until it ends. Throws
 * SettingsError when there is no store of this version.
 *
 * A store that is put back as a file notices it when it is opened (`formatOf`), unless the whole disk is set back.
 */
export async function renewStoreId(file: string): Promise<void> {
  const store = openStore(file);
  try {
    store.write(() => makeFormat(file, store.root));
  } finally {
    await store.close();
  }
}
