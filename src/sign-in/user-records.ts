import type { Engine, Space } from '../storage/engine.ts';
import { type Item, itemsOf } from '../storage/item-text.ts';
import { scanPageItemsMax } from '../storage/limits.ts';
import { userKeyOf } from './types.ts';

/** Most users have a few sessions. */
const firstPageItems = 16;

/** The records of one user in a space with record ids `<user key>.…`, so that they are adjacent. */
export async function* userRecords(
  engine: Engine,
  space: Space,
  user: string,
  behind = `${user}.`,
): AsyncGenerator<Item> {
  let after = behind;
  for (let limit = firstPageItems; ; limit = Math.min(2 * limit, scanPageItemsMax)) {
    let count = 0;
    const scan = await engine.scan(space, { after, limit });
    for await (const item of itemsOf(scan?.chunks ?? [])) {
      if (userKeyOf(item.id) !== user) return;
      yield item;
      after = item.id;
      count++;
    }
    if (count < limit) return;
  }
}
