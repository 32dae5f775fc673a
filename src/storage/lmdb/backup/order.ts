import type { Manifest } from './manifest.ts';

/**
 * The order of backups is that of the commits in them. Times and names come from clocks, which may be wrong: they decide only between
 * backups of the same commit, which have the same content.
 */

/** Where a backup stands among those of its store. */
export type Place = Pick<Manifest, 'timeline' | 'position'>;

/** Negative if the first is the older one. */
export function comparePlaces(one: Place, other: Place): number {
  return one.timeline - other.timeline || one.position - other.position;
}

/** As `comparePlaces`, and of two backups of one commit the one that was made later is the newer one. */
export function compareBackups(one: Manifest, other: Manifest): number {
  return (
    comparePlaces(one, other) ||
    Date.parse(one.time) - Date.parse(other.time) ||
    (one.name < other.name ? -1 : 1)
  );
}

/**
 * Groups backups by the id of their store. Each group begins with its oldest backup, and the group of the owner is the last.
 *
 * @param ownerId the id of the store to which the target belongs; undefined if the target does not name it
 */
export function byStore(
  manifests: readonly Manifest[],
  ownerId: string | undefined,
): ReadonlyMap<string, readonly Manifest[]> {
  const groups = Map.groupBy(manifests, ({ store_id }) => store_id);
  const sorted = Array.from(groups, ([id, group]) => [id, group.toSorted(compareBackups)] as const);
  return new Map(sorted.sort(([one], [other]) => Number(one === ownerId) - Number(other === ownerId)));
}

/**
 * The timeline of the next backup of a store: a new one if the target has a commit that the store lacks.
 *
 * @param made the backups of the store at the target, the oldest first
 * @param next position and time of its last commit
 */
export function nextTimeline(
  made: readonly Manifest[],
  next: Pick<Manifest, 'position' | 'last_commit_at'>,
): number {
  const newest = made.at(-1);
  if (newest === undefined) return 0;
  const isSame = newest.position === next.position && newest.last_commit_at === next.last_commit_at;
  const isLater = newest.position < next.position;
  return newest.timeline + (isSame || isLater ? 0 : 1);
}
