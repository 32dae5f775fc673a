import { hash } from 'node:crypto';
import type { Engine, Space } from '../engine.ts';
import { itemText } from '../item-text.ts';
import { type Entry, entriesOf } from './entries.ts';

/**
 * What a space holds, whatever the order: how many items, and the sum of their texts' SHA-256, modulo 2^256.
 *
 * An id is in a space once, so that the summands of two spaces differ wherever the spaces do; that the sums agree
 * nevertheless has a chance of 2^-256 for whatever a fault does. It is no proof against who chooses items so that it
 * fails, and need be none: who can do that can write the target as well.
 */
interface Content {
  readonly count: number;
  readonly digest: bigint;
}

export interface Comparison {
  /** Of the source. */
  readonly items: number;
  /** Those of the source that hold items. */
  readonly spaces: readonly Space[];
  /** Each space that is not as it should be, a sentence each. */
  readonly differences: readonly string[];
}

/** Called with the items read anew since the last call. */
export type Read = (items: number) => void;

/** Reads both stores anew, whole, and tells each space that is not the same in both. */
export async function compareStores(
  source: Engine,
  target: Engine,
  { spaces, read }: { readonly spaces: readonly Space[]; readonly read: Read },
): Promise<Comparison> {
  const found = { items: 0, spaces: [] as Space[], differences: [] as string[] };
  for (const space of spaces) {
    const [there, here] = await Promise.all([contentOf(source, space, read), contentOf(target, space)]);
    found.items += there.count;
    if (there.count > 0) found.spaces.push(space);
    if (there.count !== here.count)
      found.differences.push(`${space}: ${there.count} items in the source, ${here.count} in the target`);
    else if (there.digest !== here.digest)
      found.differences.push(`${space}: ${there.count} items in both, and not the same ones`);
  }
  return found;
}

/** The same for a target that may hold more: each item of the source is looked for. */
export async function lookForAll(
  source: Engine,
  target: Engine,
  { spaces, read }: { readonly spaces: readonly Space[]; readonly read: Read },
): Promise<Comparison> {
  const found = { items: 0, spaces: [] as Space[], differences: [] as string[] };
  for (const space of spaces) {
    let [count, lacking] = [0, 0];
    const look = async (entries: readonly Entry[]) => {
      const values = await Promise.all(entries.map(({ id }) => target.get(space, id)));
      lacking += entries.filter(({ value }, index) => value !== values[index]).length;
      count += entries.length;
      read(entries.length);
    };
    let entries: Entry[] = [];
    for await (const entry of entriesOf(source, [space])) {
      entries.push(entry);
      if (entries.length === lookedForAtOnce) await look(entries.splice(0));
    }
    await look(entries);
    entries = [];
    found.items += count;
    if (count > 0) found.spaces.push(space);
    if (lacking > 0)
      found.differences.push(
        `${space}: ${lacking} of ${count} items are missing in the target, or others there`,
      );
  }
  return found;
}

const lookedForAtOnce = 64;
const modulus = 1n << 256n;

async function contentOf(engine: Engine, space: Space, read: Read = () => undefined): Promise<Content> {
  let [count, digest] = [0, 0n];
  for await (const { id, value } of entriesOf(engine, [space])) {
    count++;
    digest = (digest + BigInt(`0x${hash('sha256', itemText(id, value))}`)) % modulus;
    read(1);
  }
  return { count, digest };
}
