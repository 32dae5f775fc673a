import { hash } from 'node:crypto';
import type { Engine, Space } from '../engine.ts';
import { itemText } from '../item-text.ts';
import { type CopyEntry, readEntries } from './entries.ts';

/**
 * The content of a space in any order: the number of items, and the sum of the SHA-256 of their texts, modulo 2^256.
 *
 * A space has each id once, so two different spaces have different summands. After a fault, the sums agree with a probability of 2^-256.
 * An attacker who chooses the items could make them agree, but could also write to the target directly.
 */
interface SpaceDigest {
  readonly count: number;
  readonly digest: bigint;
}

export interface StoreComparison {
  /** Number of items in the source. */
  readonly items: number;
  /** Spaces of the source that hold items. */
  readonly spaces: readonly Space[];
  /** One sentence for each space that differs. */
  readonly differences: readonly string[];
}

/** Called with the number of items that were read again since the last call. */
export type Read = (items: number) => void;

/** What to compare. */
interface Compared {
  readonly spaces: readonly Space[];
  readonly read: Read;
}

/** Reads both stores again in full, and reports each space that differs. */
export function compareStores(
  source: Engine,
  target: Engine,
  { spaces, read }: Compared,
): Promise<StoreComparison> {
  return compareSpaces(spaces, async (space) => {
    const [there, here] = await Promise.all([digestSpace(source, space, read), digestSpace(target, space)]);
    const { count } = there;
    if (count !== here.count)
      return { count, difference: `${count} items in the source, ${here.count} in the target` };
    if (there.digest === here.digest) return { count };
    return { count, difference: `${count} items in both, but not the same ones` };
  });
}

/** As `compareStores`, for a target that may hold more items: looks up each item of the source. */
export function lookForAll(
  source: Engine,
  target: Engine,
  { spaces, read }: Compared,
): Promise<StoreComparison> {
  return compareSpaces(spaces, async (space) => {
    let [count, missing] = [0, 0];
    const look = async (entries: readonly CopyEntry[]) => {
      const values = await Promise.all(entries.map(({ id }) => target.get(space, id)));
      missing += entries.filter(({ value }, index) => value !== values[index]).length;
      count += entries.length;
      read(entries.length);
    };
    const entries: CopyEntry[] = [];
    for await (const entry of readEntries(source, [space])) {
      entries.push(entry);
      if (entries.length === lookupsAtOnce) await look(entries.splice(0));
    }
    await look(entries);
    if (missing === 0) return { count };
    return { count, difference: `${missing} of ${count} items are missing or different in the target` };
  });
}

async function compareSpaces(
  spaces: readonly Space[],
  compare: (space: Space) => Promise<{ readonly count: number; readonly difference?: string }>,
): Promise<StoreComparison> {
  const found = { items: 0, spaces: [] as Space[], differences: [] as string[] };
  for (const space of spaces) {
    const { count, difference } = await compare(space);
    found.items += count;
    if (count > 0) found.spaces.push(space);
    if (difference !== undefined) found.differences.push(`${space}: ${difference}`);
  }
  return found;
}

const lookupsAtOnce = 64;
const modulus = 1n << 256n;

async function digestSpace(engine: Engine, space: Space, read: Read = () => undefined): Promise<SpaceDigest> {
  let [count, digest] = [0, 0n];
  for await (const { id, value } of readEntries(engine, [space])) {
    count++;
    digest = (digest + BigInt(`0x${hash('sha256', itemText(id, value))}`)) % modulus;
    read(1);
  }
  return { count, digest };
}
