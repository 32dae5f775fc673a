import type { Engine, Space } from '../engine.ts';
import { itemsOf } from '../item-text.ts';
import { copyCommitBytesMax, copyItemsMax } from './limits.ts';
import { Retry } from './retry.ts';

export interface Place {
  readonly space: Space;
  readonly id: string;
}

export interface Entry extends Place {
  readonly value: string;
}

/** Entries that one commit copies. */
export interface Batch {
  /** From 0, in source order. */
  readonly number: number;
  readonly entries: readonly Entry[];
  /** Place of the last entry. */
  readonly end: Place;
  /** Entries of this and all earlier batches. */
  readonly entryCount: number;
}

/** The spaces of a store to copy, in copy order; all but `service:copying`. */
export async function copiedSpaces(engine: Engine): Promise<Space[]> {
  return (await engine.spaces()).filter((space) => space !== 'service:copying').sort();
}

/**
 * All entries of the spaces, in an order that is the same each time. With `behind`, only entries after that place.
 * Retries temporary failures.
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
  const retry = new Retry();
  for (;;) {
    try {
      if (after === undefined) {
        // The order of a whole scan may change from one to the next; the order of a scan with a limit never does.
        const first = await firstItem(engine, space);
        if (first === undefined) return;
        yield first;
        after = first.id;
      }
      const scan = await engine.scan(space, { after });
      for await (const { id, name } of itemsOf(scan?.chunks ?? [])) {
        yield { space, id, value: name };
        after = id;
        retry.renew();
      }
      return;
    } catch (error) {
      await retry.pauseAfter(error);
    }
  }
}

export async function holdsItems(engine: Engine, space: Space): Promise<boolean> {
  const { done } = await entriesOfSpace(engine, space).next();
  return done !== true;
}

/** The first entry of the space; undefined when it is empty. */
async function firstItem(engine: Engine, space: Space): Promise<Entry | undefined> {
  const scan = await engine.scan(space, { limit: 1 });
  for await (const { id, name } of itemsOf(scan?.chunks ?? [])) return { space, id, value: name };
  return undefined;
}

/** Splits entries into batches. The same entries after the same batch always give the same batches. */
export async function* batchesOf(
  source: AsyncIterable<Entry>,
  first: Pick<Batch, 'number' | 'entryCount'>,
): AsyncGenerator<Batch> {
  let { number, entryCount } = first;
  let entries: Entry[] = [];
  let bytes = 0;
  const takeBatch = () => {
    entryCount += entries.length;
    const batch = { number: number++, entries, end: placeIn(entries), entryCount };
    entries = [];
    bytes = 0;
    return batch;
  };
  for await (const entry of source) {
    const entryBytes = Buffer.byteLength(entry.id) + Buffer.byteLength(entry.value);
    const isFull = entries.length === copyItemsMax || bytes + entryBytes > copyCommitBytesMax;
    if (isFull && entries.length > 0) yield takeBatch();
    entries.push(entry);
    bytes += entryBytes;
  }
  if (entries.length > 0) yield takeBatch();
}

function placeIn(entries: readonly Entry[]): Place {
  const { space, id } = entries.at(-1) as Entry;
  return { space, id };
}
