import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../errors.ts';
import type { Engine, Space } from '../engine.ts';
import { itemsOf } from '../item-text.ts';
import { commitWritesMax } from '../limits.ts';

/** Items in one commit of a copy. The hundredth write is the progress marker. */
export const copyItemsMax = commitWritesMax - 1;
/** Bytes of ids and values in one commit: few enough that a slow line sends it in one attempt. */
const commitBytesMax = 512 * 1024;
/** How long a copy retries when a store is at its limit. DynamoDB doubles its capacity within minutes. */
const retryMsMax = 5 * 60 * 1_000;
/** The pause between these attempts. The engine itself has already retried with longer pauses. */
const retryPauseMs = 250;

/** A copy runs unattended, so it retries for minutes if a store fails temporarily or is at its limit. */
export class Retry {
  #end = performance.now() + retryMsMax;

  /** Restarts the time limit after a reply. */
  renew(): void {
    this.#end = performance.now() + retryMsMax;
  }

  /** Pauses before a retry. Throws the error if it is permanent, or has lasted for `retryMsMax`. */
  async pauseAfter(error: unknown): Promise<void> {
    if (!isTemporary(error) || performance.now() > this.#end) throw error;
    await sleep(retryPauseMs);
  }
}

function isTemporary(error: unknown): boolean {
  const isFailure =
    error instanceof ServiceError && (error.code === 'overloaded' || error.code === 'unavailable');
  return isFailure && error.details.retryable !== false;
}

export interface EntryPlace {
  readonly space: Space;
  readonly id: string;
}

export interface CopyEntry extends EntryPlace {
  readonly value: string;
}

/** Entries that one commit copies. */
export interface CopyBatch {
  /** Counted from 0, in source order. */
  readonly number: number;
  readonly entries: readonly CopyEntry[];
  /** The place of the last entry. */
  readonly end: EntryPlace;
  /** The number of entries in this and all earlier batches. */
  readonly entryCount: number;
}

/** The spaces of a store to copy, in copy order: all but `service:copying`. */
export async function copiedSpaces(engine: Engine): Promise<Space[]> {
  return (await engine.spaces()).filter((space) => space !== 'service:copying').sort();
}

/**
 * All entries of the spaces, in an order that is the same each time. With `behind`, only entries after that place.
 * Retries temporary failures.
 */
export async function* readEntries(
  engine: Engine,
  spaces: readonly Space[],
  behind?: EntryPlace,
): AsyncGenerator<CopyEntry> {
  for (const space of spaces) {
    if (behind !== undefined && space < behind.space) continue;
    yield* readSpace(engine, space, space === behind?.space ? behind.id : undefined);
  }
}

async function* readSpace(engine: Engine, space: Space, behind?: string): AsyncGenerator<CopyEntry> {
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
  const { done } = await readSpace(engine, space).next();
  return done !== true;
}

/** The first entry of the space; undefined if it is empty. */
async function firstItem(engine: Engine, space: Space): Promise<CopyEntry | undefined> {
  const scan = await engine.scan(space, { limit: 1 });
  for await (const { id, name } of itemsOf(scan?.chunks ?? [])) return { space, id, value: name };
  return undefined;
}

/** Splits entries into batches. The same entries after the same batch always give the same batches. */
export async function* makeBatches(
  source: AsyncIterable<CopyEntry>,
  first: Pick<CopyBatch, 'number' | 'entryCount'>,
): AsyncGenerator<CopyBatch> {
  let { number, entryCount } = first;
  let entries: CopyEntry[] = [];
  let bytes = 0;
  const takeBatch = () => {
    entryCount += entries.length;
    const batch = { number: number++, entries, end: lastPlace(entries), entryCount };
    entries = [];
    bytes = 0;
    return batch;
  };
  for await (const entry of source) {
    const entryBytes = Buffer.byteLength(entry.id) + Buffer.byteLength(entry.value);
    const isFull = entries.length === copyItemsMax || bytes + entryBytes > commitBytesMax;
    if (isFull && entries.length > 0) yield takeBatch();
    entries.push(entry);
    bytes += entryBytes;
  }
  if (entries.length > 0) yield takeBatch();
}

function lastPlace(entries: readonly CopyEntry[]): EntryPlace {
  const { space, id } = entries.at(-1) as CopyEntry;
  return { space, id };
}
