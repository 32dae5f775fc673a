import { SettingsError } from '../../errors.ts';
import type { Engine, Rejection, Space, Write } from '../engine.ts';
import { compareStores, lookForAll, type StoreComparison } from './compare.ts';
import {
  type CopyBatch,
  type CopyEntry,
  copiedSpaces,
  holdsItems,
  makeBatches,
  Retry,
  readEntries,
} from './entries.ts';
import { CopyMarker, canHold, checkIsWhole } from './marker.ts';

export interface NamedEngine {
  /** Appears in messages, and identifies an unfinished copy: `lmdb:/srv/data`. */
  readonly name: string;
  readonly engine: Engine;
}

export interface CopyOptions {
  readonly source: NamedEngine;
  readonly target: NamedEngine;
  /**
   * Whether the target may already hold items. An item with the id and value of a source item counts as copied. An item
   * with the same id and a different value ends the copy. No existing item is changed.
   */
  readonly isIntoExisting?: boolean;
  /** Called from time to time with the stage, the items done so far, and the total when it is known. */
  readonly progress?: (stage: 'copied' | 'verified', items: number, total: number | undefined) => void;
}

export interface Copied {
  /** The number of items in the source, as the verification counted them. */
  readonly items: number;
  readonly spaces: number;
  /** The names of the tables among the spaces. */
  readonly tables: readonly string[];
  /** One sentence for each difference; empty if the copy is complete. */
  readonly differences: readonly string[];
}

/**
 * Copies everything from one store to another, then reads both again and compares them. After a kill at any point, the
 * same call continues where it stopped (`CopyMarker`). Nothing else should write to either store meanwhile. A foreign write
 * ends the copy or shows up in the comparison, and is never overwritten.
 *
 * Throws SettingsError when it cannot begin or continue. Throws ServiceError when a store fails for longer than
 * `retryMsMax`, or at once when a retry cannot help.
 */
export async function copyStore(options: CopyOptions): Promise<Copied> {
  return new Copying(options).run();
}

class Copying {
  readonly #source: NamedEngine;
  readonly #target: NamedEngine;
  readonly #isIntoExisting: boolean;
  readonly #progress: NonNullable<CopyOptions['progress']>;

  constructor({ source, target, isIntoExisting = false, progress = () => undefined }: CopyOptions) {
    this.#source = { ...source, engine: withRetries(source.engine) };
    this.#target = { ...target, engine: withRetries(target.engine) };
    this.#isIntoExisting = isIntoExisting;
    this.#progress = progress;
  }

  async run(): Promise<Copied> {
    if (this.#source.name === this.#target.name)
      throw new SettingsError([`--to: ${this.#target.name} is the source itself`]);
    await checkIsWhole(this.#source.engine);
    const spaces = await copiedSpaces(this.#source.engine);
    const marker = (await this.#unfinished()) ?? (await this.#begin(spaces));
    await this.#copy(spaces, marker);
    const found = await this.#compare(marker);
    if (found.differences.length === 0) await marker.remove(this.#target.engine);
    const tables = found.spaces.filter((space) => space.startsWith('table:'));
    return {
      ...found,
      spaces: found.spaces.length,
      tables: tables.map((space) => space.slice('table:'.length)),
    };
  }

  async #unfinished(): Promise<CopyMarker | undefined> {
    const marker = await CopyMarker.find(this.#target.engine);
    if (marker === undefined || marker.source === this.#source.name) return marker;
    throw new SettingsError([
      `--to: ${this.#target.name} is the target of an unfinished copy from ${marker.source}`,
    ]);
  }

  async #begin(spaces: readonly Space[]): Promise<CopyMarker> {
    const { engine, name } = this.#target;
    // An engine in a shared account lists only declared tables, so check the source's spaces too.
    const held = this.#isIntoExisting ? [] : new Set([...(await copiedSpaces(engine)), ...spaces]);
    for (const space of held) {
      if (await holdsItems(engine, space))
        throw new SettingsError([
          `--to: ${name} is not empty: ${space} has items; use --into-existing to keep them and add the missing ones`,
        ]);
    }
    for (const space of spaces) {
      if (!(await canHold(engine, space)))
        throw new SettingsError([`--to: ${name} cannot have a table with the name that ${space} needs`]);
    }
    return CopyMarker.begin(engine, { source: this.#source.name, isIntoExisting: this.#isIntoExisting });
  }

  async #copy(spaces: readonly Space[], marker: CopyMarker): Promise<void> {
    const last = marker.last;
    const total = await this.#total(spaces);
    const first = { number: (last?.number ?? -1) + 1, entryCount: last?.entryCount ?? 0 };
    const running: { readonly number: number; readonly done: Promise<void> }[] = [];
    try {
      for await (const batch of makeBatches(readEntries(this.#source.engine, spaces, last), first)) {
        if (marker.has(batch)) continue;
        while (running[0] !== undefined && batch.number - running[0].number >= marker.batchesMax)
          await running.shift()?.done;
        const done = this.#write(batch, marker).then(() => this.#progress('copied', batch.entryCount, total));
        // The code that awaits `done` handles its failure.
        done.catch(() => undefined);
        running.push({ number: batch.number, done });
      }
      for (const { done } of running) await done;
    } finally {
      await Promise.allSettled(running.map(({ done }) => done));
    }
  }

  /** Retries until the batch is in the target, by this commit or by an earlier one that lost its reply. */
  async #write(batch: CopyBatch, marker: CopyMarker): Promise<void> {
    const { engine, name } = this.#target;
    const retry = new Retry();
    let entries = batch.entries;
    for (;;) {
      try {
        const rejection = await engine.commit([marker.write(batch), ...entries.map(creation)]);
        if (rejection === undefined || (await marker.isIn(engine, batch))) return marker.noteDone(batch);
        if (rejection.write === 0) throw new SettingsError([`--to: another copy to ${name} is in progress`]);
        entries = await this.#missing(entries, rejection, marker);
      } catch (error) {
        // The marker is written with the batch, so the retry finds a commit that lost its reply.
        await retry.pauseAfter(error);
      }
    }
  }

  /** The entries that the target lacks. Throws SettingsError for a different value, or an item that should not be there. */
  async #missing(
    entries: readonly CopyEntry[],
    { write }: Rejection,
    { isIntoExisting }: CopyMarker,
  ): Promise<readonly CopyEntry[]> {
    const existing = entries[write - 1] as CopyEntry;
    if (!isIntoExisting)
      throw new SettingsError([`--to: ${describeEntry(existing)} was added to the target during the copy`]);
    const { engine } = this.#target;
    const values = await Promise.all(entries.map(({ space, id }) => engine.get(space, id)));
    const other = entries.find(({ value }, index) => ![value, undefined].includes(values[index]));
    if (other !== undefined)
      throw new SettingsError([
        `--to: ${describeEntry(other)} has a different value in the target; nothing was changed`,
      ]);
    return entries.filter((_, index) => values[index] === undefined);
  }

  async #compare({ isIntoExisting }: CopyMarker): Promise<StoreComparison> {
    const [source, target] = [this.#source.engine, this.#target.engine];
    const ours = await copiedSpaces(source);
    const spaces = isIntoExisting ? ours : [...new Set([...ours, ...(await copiedSpaces(target))])];
    const total = await this.#total(ours);
    let items = 0;
    const read = (more: number) => {
      items += more;
      this.#progress('verified', items, total);
    };
    return (isIntoExisting ? lookForAll : compareStores)(source, target, { spaces, read });
  }

  async #total(spaces: readonly Space[]): Promise<number | undefined> {
    let total: number | undefined = 0;
    for (const space of spaces) {
      const count = (await this.#source.engine.describe(space))?.count;
      total = total === undefined || count === undefined ? undefined : total + count;
    }
    return total;
  }
}

/** Wraps an engine to retry its reads. The callers of scans and commits retry those, because they know the progress. */
function withRetries(engine: Engine): Engine {
  return {
    reads: engine.reads,
    get: (space, id) => retryUntilDone(() => engine.get(space, id)),
    spaces: () => retryUntilDone(() => engine.spaces()),
    describe: (space) => retryUntilDone(() => engine.describe(space)),
    count: (space) => retryUntilDone(() => engine.count(space)),
    removeSpace: (space) => engine.removeSpace(space),
    scan: (space, options) => engine.scan(space, options),
    commit: (writes) => engine.commit(writes),
    checkWritable: () => engine.checkWritable(),
    close: () => engine.close(),
  };
}

async function retryUntilDone<Output>(attempt: () => Promise<Output>): Promise<Output> {
  const retry = new Retry();
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      await retry.pauseAfter(error);
    }
  }
}

function creation({ space, id, value }: CopyEntry): Write {
  return { kind: 'create', space, id, value, makeSpace: true };
}

function describeEntry({ space, id }: CopyEntry): string {
  return `the item ${JSON.stringify(id)} of ${space}`;
}
