import type { Engine, Space } from '../engine.ts';
import { itemsOf } from '../item-text.ts';
import { copyCommitBytesMax, copyItemsMax } from './limits.ts';
import { Patience } from './patience.ts';

export interface Place {
  readonly space: Space;
  readonly id: string;
}

export interface Entry extends Place {
  readonly value: string;
}

/** Entries that are copied by one commit. */
export interface Batch {
  /** From 0, in the order of the source. */
  readonly number: number;
  readonly entries: readonly Entry[];
  /** Of its last entry. */
  readonly end: Place;
  /** Entries of this and all batches before it. */
  readonly entryCount: number;
}

/** The spaces of a store that are copied, in the order in which they are; `service:copying` is none of them. */
export async function copiedSpaces(engine: Engine): Promise<Space[]> {
  return (await engine.spaces()).filter((space) => space !== 'service:copying').sort();
}

/**
 * Whatever the spaces hold, in an order that is the same each time, from behind a place. What fails for a moment is asked
 * again.
 */
export async function* entriesOf(
  engine: Engine,
  spaces: readonly Space[],
  behind?: Place,
): AsyncGenerator<Entry> {
  for (const space of spaces) {
    if (behind !== undefined && space < behind.space) continue;
    yield* entriesOfSpace(engine, space, space === behind?.space ? behind.id : undefined);
  }
}

async function* entriesOfSpace(engine: Engine, space: Space, behind?: string): AsyncGenerator<Entry> {
  let after = behind;
  const patience = new Patience();
  for (;;) {
    try {
      if (after === undefined) {
        // A scan of the whole space may be in an order that is another one the next time; one with a limit never is.
        const first = await firstOf(engine, space);
        if (first === undefined) return;
        yield first;
        after = first.id;
      }
      const scan = await engine.scan(space, { after });
      for await (const { id, name } of itemsOf(scan?.chunks ?? [])) {
        yield { space, id, value: name };
        after = id;
        patience.renew();
      }
      return;
    } catch (error) {
      await patience.pauseAfter(error);
    }
  }
}

export async function holdsItems(engine: Engine, space: Space): Promise<boolean> {
  const { done } = await entriesOfSpace(engine, space).next();
  return done !== true;
}

/** An entry of the space, or undefined where it has none. */
async function firstOf(engine: Engine, space: Space): Promise<Entry | undefined> {
  const scan = await engine.scan(space, { limit: 1 });
  for await (const { id, name } of itemsOf(scan?.chunks ?? [])) return { space, id, value: name };
  return undefined;
}

/** The same entries behind the same batch are always parted in the same way. */
export async function* batchesOf(
  source: AsyncIterable<Entry>,
  first: Pick<Batch, 'number' | 'entryCount'>,
): AsyncGenerator<Batch> {
  let { number, entryCount } = first;
  let entries: Entry[] = [];
  let bytes = 0;
  const taken = () => {
    entryCount += entries.length;
    const batch = { number: number++, entries, end: placeOf(entries), entryCount };
    entries = [];
    bytes = 0;
    return batch;
  };
  for await (const entry of source) {
    const entryBytes = Buffer.byteLength(entry.id) + Buffer.byteLength(entry.value);
    const isFull = entries.length === copyItemsMax || bytes + entryBytes > copyCommitBytesMax;
    if (isFull && entries.length > 0) yield taken();
    entries.push(entry);
    bytes += entryBytes;
  }
  if (entries.length > 0) yield taken();
}

function placeOf(entries: readonly Entry[]): Place {
  const { space, id } = entries.at(-1) as Entry;
  return { space, id };
}
