import type { Space } from '../../engine.ts';
import type { Databases } from './databases.ts';
import { endKey, firstKey, leafKey, spaceOf } from './databases.ts';

/** The part of a `SpaceRecord`, and of a `JournalEntry`, that is needed here. */
interface RecordHead {
  readonly count: number;
}
interface EntryHead {
  readonly spaces: readonly (readonly [space: Space, ...unknown[]])[];
}

/**
 * Finds spaces that are missing or incomplete because the key of a leaf or of a record was altered. Nothing reads a value under an
 * altered key, so its checksum cannot show the damage. Reads all records and one leaf key of each space. Reads the journal only if
 * something is missing: an interrupted compaction can leave a space with leaves and no record, or with a record and no leaves, but then
 * the space is still in the journal.
 *
 * @returns what is wrong, as the end of a sentence; undefined if all is there
 */
export function spacesProblem({ records, leaves, journal }: Databases): string | undefined {
  const counts = new Map<Space, number>();
  for (const { key, content, isIntact } of records.inspect({ start: firstKey })) {
    if (!isIntact) return `${records.describe(key)} has a wrong checksum`;
    counts.set(key as Space, (JSON.parse(content.toString()) as RecordHead).count);
  }
  const inLeaves = new Set(spacesIn(leaves));
  const unknown = [...inLeaves].filter((space) => !counts.has(space));
  const empty = [...counts].filter(([space, count]) => count > 0 && !inLeaves.has(space));
  if (unknown.length + empty.length === 0) return undefined;
  const changing = spacesInJournal(journal);
  const lost = [...unknown, ...empty.map(([space]) => space)].find((space) => !changing.has(space));
  return lost === undefined
    ? undefined
    : `a name of the items or of the record of ${JSON.stringify(lost)} was altered`;
}

/** The spaces that have leaves: a seek for each, not a scan. */
function* spacesIn(leaves: Databases['leaves']): Iterable<Space> {
  let start = firstKey;
  for (;;) {
    const [key] = leaves.getKeys({ start, limit: 1 });
    if (key === undefined) return;
    const space = spaceOf(key);
    // Of no leaf: an id is not empty.
    yield key === leafKey(space, '') ? (key as Space) : space;
    const next = endKey(space);
    // An altered key may be beyond the end of its own space.
    start = next > key ? next : `${key}\0`;
  }
}

function spacesInJournal(journal: Databases['journal']): Set<Space> {
  const spaces = new Set<Space>();
  for (const { value } of journal.getRange({ start: 0 }))
    for (const [space] of (JSON.parse(value) as EntryHead).spaces) spaces.add(space);
  return spaces;
}
