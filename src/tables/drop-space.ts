import { ServiceError } from '../errors.ts';
import type { Engine, Space, Write } from '../storage/engine.ts';
import { groupsOf } from '../storage/item-text.ts';
import { commitWritesMax } from '../storage/limits.ts';

/** Passes over a table that is being dropped while others write to it: a caller that never stops must not hold the request. */
const passesMax = 100;
/**
 * Items whose ids a pass reads at once, and deletes in concurrent commits. The longest ids take 2 MB. A store that sorts its
 * journal for each scan then sorts it seldom.
 */
const idsPerPage = 2_000;

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
  for (let passes = 0; passes < passesMax; passes++) {
    const count = await deleteItems(engine, space, caller);
    if (count === undefined) return isFound;
    isFound = true;
    // The next pass finds items that others have changed or created meanwhile.
    if (count > 0) continue;
    if (keepsSpace || (await engine.removeSpace(space)) !== 'not_empty') return true;
  }
  const message = 'Others keep creating items in this table; the items that it had are deleted.';
  throw new ServiceError('overloaded', { message, retryAfterSeconds: 1 });
}

/** Makes one pass over the table. @returns the number of items it found; undefined if the table does not exist */
async function deleteItems(
  engine: Engine,
  space: Space,
  caller: string | undefined,
): Promise<number | undefined> {
  let count = 0;
  let after: string | undefined;
  do {
    const ids = await readIds(engine, space, after);
    if (ids === undefined) return count > 0 ? count : undefined;
    const commits: Promise<unknown>[] = [];
    for (let index = 0; index < ids.length; index += commitWritesMax) {
      const some = ids.slice(index, index + commitWritesMax);
      // A rejection means that another caller has deleted an item. The next pass deletes the others.
      const deletions = some.map((id): Write => ({ kind: 'delete', space, id }));
      commits.push(engine.commit(deletions, caller));
    }
    await waitForAll(commits);
    count += ids.length;
    after = ids.length < idsPerPage ? undefined : ids.at(-1);
  } while (after !== undefined);
  return count;
}

async function readIds(
  engine: Engine,
  space: Space,
  after: string | undefined,
): Promise<readonly string[] | undefined> {
  const scan = await engine.scan(space, { limit: idsPerPage, after });
  if (scan === undefined) return undefined;
  const ids: string[] = [];
  for await (const items of groupsOf(scan.chunks)) for (const { id } of items) ids.push(id);
  return ids;
}

/** Throws the first error, but only when all commits have ended: nothing goes on after the caller has the error. */
async function waitForAll(commits: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(commits))
    if (result.status === 'rejected') throw result.reason;
}
