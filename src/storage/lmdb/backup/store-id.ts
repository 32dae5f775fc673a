import { notedCommit } from '../file/failure.ts';
import { isFile } from '../file/file-identity.ts';
import { lastEntry } from '../log/journal.ts';
import { openStore, openStoreToRead } from '../store.ts';

/**
 * The id of a store. A store that is a copy, or that was overwritten by an older one, gets its new id first, as when a service opens it:
 * a backup under the id of the original would be taken for one of that. Throws as `openStore` does.
 */
export async function settledStoreId(file: string): Promise<string> {
  const noted = notedCommit(file);
  const found = openStoreToRead(file);
  const { id, file: notedFile } = found.format;
  const last = lastEntry(found)?.commit ?? 0;
  await found.close();
  if (noted <= last && isFile(file, notedFile)) return id;
  const store = openStore(file);
  await store.close();
  return store.format.id;
}
