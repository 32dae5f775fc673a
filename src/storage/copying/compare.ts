import { hash } from 'node:crypto';
import type { Engine, Space } from '../engine.ts';
import { itemText } from '../item-text.ts';
import { type Entry, readEntries } from './entries.ts';

/**
 * The content of a space in any order: the number of items, and the sum of the SHA-256 of their texts, modulo 2^256.
 *
 * A space has each id once, so two different spaces have different summands. After a fault, the sums agree with a probability of 2^-256.
 * An attacker who chooses the items could make them agree, but could also write to the target directly.
 */
interface Content {
  readonly count: number;
  readonly digest: bigint;
}

export interface Comparison {
  /** Number of items in the source. */
  readonly items: number;
  /** Spaces of the source that hold items. */
  readonly spaces: readonly Space[];
  /** One sentence for each space that differs. */
  readonly differences: readonly string[];
}

/** Called with the number of items that were read again since the last call. */
export type Read = (items: number) => void;

/** Reads both stores again in full, and reports each space that differs. */
export async function compareStores(
  source: Engine,
  target: Engine,
  { spaces, read }: { readonly spaces: readonly Space[]; readonly read: Read },
): Promise<Comparison> {
  const found = { items: 0, spaces: [] as Space[], differences: [] as string[] };
  for (const space of spaces) {
    const [there, here] = await Promise.all([digestSpace(source, space, read), digestSpace(target, space)]);
    found.items += there.count;
    if (there.count > 0) found.spaces.push(space);
    if (there.count !== here.count)
      found.differences.push(`${space}: ${there.count} items in the source, ${here.count} in the target`);
    else if (there.digest !== here.digest)
      found.differences.push(`${space}: ${there.count} items in both, but not the same ones`);
  }
  return found;
}

/** As `compareStores`, for a target that may hold more items: looks up each item of the source. */
export async function lookForAll(
  source: Engine,
  target: Engine,
  { spaces, read }: { readonly spaces: readonly Space[]; readonly read: Read },
): Promise<Comparison> {
  const found = { items: 0, spaces: [] as Space[], differences: [] as string[] };
  for (const space of spaces) {
    let [count, missing] = [0, 0];
    const look = async (entries: readonly Entry[]) => {
      const values = await Promise.all(entries.map(({ id }) => target.get(space, id)));
      missing += entries.filter(({ value }, index) => value !== values[index]).length;
      count += entries.length;
      read(entries.length);
    };
    const entries: Entry[] = [];
    for await (const entry of readEntries(source, [space])) {
      entries.push(entry);
      if (entries.length === lookupsAtOnce) await look(entries.splice(0));
    }
    await look(entries);
    found.items += count;
    if (count > 0) found.spaces.push(space);
    if (missing > 0)
      found.differences.push(`${space}: ${missing} of ${count} items are missing or different in the target`);
  }
  return found;
}

const lookupsAtOnce = 64;
const modulus = 1n << 256n;

async function digestSpace(engine: Engine, space: Space, read: Read = () => undefined): Promise<Content> {
  let [count, digest] = [0, 0n];
  for await (const { id, value } of readEntries(engine, [space])) {
    count++;
    digest = (digest + BigInt(`0x${hash('sha256', itemText(id, value))}`)) % modulus;
    read(1);
  }
  return { count, digest };
}
