import { scanPageItemsMax } from '../storage/limits.ts';
import type { Records, Stored } from '../storage/records.ts';
import { userKeyInId } from './types.ts';

/** Most users have a few sessions. */
const firstPageItems = 16;

/** The records of one user, if record ids are `<user key>.…`, so that they are adjacent. @param behind only records after this id */
export async function* userRecords<Value extends object>(
  records: Records<Value>,
  user: string,
  behind = `${user}.`,
): AsyncGenerator<Stored<Value>> {
  let after = behind;
  for (let limit = firstPageItems; ; limit = Math.min(2 * limit, scanPageItemsMax)) {
    let count = 0;
    for await (const stored of records.list({ after, limit })) {
      if (userKeyInId(stored.id) !== user) return;
      yield stored;
      after = stored.id;
      count++;
    }
    if (count < limit) return;
  }
}
