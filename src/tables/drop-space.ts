import { ServiceError } from '../errors.ts';
import type { Engine, Space, Write } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';
import { commitWritesMax } from '../storage/limits.ts';
import { dropPassesMax } from './limits.ts';

/**
 * Deletes the items of a table, in commits of `commitWritesMax`, and then the table, unless its space is kept. Throws
 * `overloaded` when others keep creating items.
 *
 * @returns whether the table existed
 */
export async function dropSpace(
  engine: Engine,
  space: Space,
  { keepsSpace }: { readonly keepsSpace: boolean },
): Promise<boolean> {
  for (let passes = 0; passes < dropPassesMax; passes++) {
    const isFound = await deleteItems(engine, space);
    if (keepsSpace || !isFound) return isFound || passes > 0;
    if ((await engine.removeSpace(space)) !== 'not_empty') return true;
  }
  const message = 'Others keep creating items in this table; the items that it had are deleted.';
  throw new ServiceError('overloaded', { message, retryAfterSeconds: 1 });
}

/** @returns whether the table existed at first */
async function deleteItems(engine: Engine, space: Space): Promise<boolean> {
  for (let pages = 0; ; pages++) {
    const scan = await engine.scan(space, { limit: commitWritesMax });
    if (scan === undefined) return pages > 0;
    const deletes: Write[] = [];
    for await (const { id } of itemsOf(scan.chunks)) deletes.push({ kind: 'delete', space, id });
    if (deletes.length === 0) return true;
    // A rejection means that another caller has deleted an item; the next page no longer has it.
    await engine.commit(deletes);
  }
}
