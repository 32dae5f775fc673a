import { ServiceError } from '../errors.ts';
import type { Engine, Space, Write } from '../storage/engine.ts';
import { groupsOf } from '../storage/item-text.ts';
import { commitWritesMax } from '../storage/limits.ts';
import { dropPageItems, dropPassesMax } from './limits.ts';

/**
 * Deletes the items of a table, in commits of `commitWritesMax`, and then the table, unless its space is kept. Throws
 * `overloaded` when others keep creating items.
 *
 * @returns whether the table existed
 */
export async function dropSpace(
  engine: Engine,
  space: Space,
  { keepsSpace, caller }: { readonly keepsSpace: boolean; readonly caller: string | undefined },
): Promise<boolean> {
  let isFound = false;
  for (let passes = 0; passes < dropPassesMax; passes++) {
    const count = await deleteItems(engine, space, caller);
    if (count === undefined) return isFound;
    isFound = true;
    // An item that others changed meanwhile, or created before the present place, is in the next pass.
    if (count > 0) continue;
    if (keepsSpace || (await engine.removeSpace(space)) !== 'not_empty') return true;
  }
  const message = 'Others keep creating items in this table; the items that it had are deleted.';
  throw new ServiceError('overloaded', { message, retryAfterSeconds: 1 });
}

/** One pass over the table. @returns the number of items that it had; undefined when the table did not exist */
async function deleteItems(
  engine: Engine,
  space: Space,
  caller: string | undefined,
): Promise<number | undefined> {
  let count = 0;
  let after: string | undefined;
  do {
    const ids = await idsAfter(engine, space, after);
    if (ids === undefined) return count > 0 ? count : undefined;
    const commits: Promise<unknown>[] = [];
    for (let index = 0; index < ids.length; index += commitWritesMax) {
      const some = ids.slice(index, index + commitWritesMax);
      // A rejection means that another caller has deleted an item; the next pass has the others.
      const deletions = some.map((id): Write => ({ kind: 'delete', space, id }));
      commits.push(engine.commit(deletions, caller));
    }
    await allOf(commits);
    count += ids.length;
    after = ids.length < dropPageItems ? undefined : ids.at(-1);
  } while (after !== undefined);
  return count;
}

async function idsAfter(
  engine: Engine,
  space: Space,
  after: string | undefined,
): Promise<readonly string[] | undefined> {
  const scan = await engine.scan(space, { limit: dropPageItems, ...(after === undefined ? {} : { after }) });
  if (scan === undefined) return undefined;
  const ids: string[] = [];
  for await (const items of groupsOf(scan.chunks)) for (const { id } of items) ids.push(id);
  return ids;
}

/** Throws the first error when all have ended: nothing goes on after the caller has the error. */
async function allOf(commits: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(commits))
    if (result.status === 'rejected') throw result.reason;
}
