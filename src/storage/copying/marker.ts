import { SettingsError } from '../../errors.ts';
import { CommitUnknown, type Engine, type Space, type Write } from '../engine.ts';
import { itemsOf } from '../item-text.ts';
import type { CopyBatch, EntryPlace } from './entries.ts';

/** Concurrent commits of a copy: docs/decisions/moving-stores.md has the measurements. */
const commitsMax = 4;

const space: Space = 'service:copying';
const headId = 'copy';

/** The copy into this store. */
interface CopyHead {
  /** The name of the source. */
  readonly source: string;
  /** Whether the target may have held items at the beginning. */
  readonly isIntoExisting: boolean;
  readonly slots: number;
}

/** A batch that is in the target. */
interface FinishedBatch extends EntryPlace {
  readonly number: number;
  readonly entryCount: number;
}

/**
 * The progress of a copy, stored in the space `service:copying` of its target. Each commit writes a batch together with
 * its record, so a batch is recorded exactly when it is in the target.
 *
 * Several batches are in progress at once and may finish in any order. The slot of a batch is its number modulo the number of slots, which
 * is one more than the number of batches that may be in progress. So the last batch of the finished sequence is always in its slot, and the
 * copy continues after it.
 */
export class CopyMarker {
  readonly source: string;
  readonly isIntoExisting: boolean;
  readonly #slots: number;
  /** Finished batches by slot. */
  readonly #done = new Map<number, { readonly batch: FinishedBatch; readonly text: string }>();

  /** The marker of an unfinished copy; undefined if there is none. */
  static async find(target: Engine): Promise<CopyMarker | undefined> {
    const head = await target.get(space, headId);
    if (head === undefined) return undefined;
    const marker = new CopyMarker(JSON.parse(head) as CopyHead);
    const scan = await target.scan(space);
    for await (const { id, name: text } of itemsOf(scan?.chunks ?? [])) {
      if (id !== headId) marker.#note(JSON.parse(text) as FinishedBatch, text);
    }
    return marker;
  }

  /** Records the beginning of a copy. Throws SettingsError if another copy began at the same time. */
  static async begin(target: Engine, copying: Omit<CopyHead, 'slots'>): Promise<CopyMarker> {
    const head: CopyHead = { ...copying, slots: commitsMax + 1 };
    const value = JSON.stringify(head);
    const rejection = await target.commit([{ kind: 'create', space, id: headId, value, makeSpace: true }]);
    if (rejection !== undefined) throw new SettingsError(['another copy to this target has just begun']);
    return new CopyMarker(head);
  }

  private constructor({ source, isIntoExisting, slots }: CopyHead) {
    this.source = source;
    this.isIntoExisting = isIntoExisting;
    this.#slots = slots;
  }

  /** How many batches may be in progress, counted from the first unfinished one. */
  get batchesMax(): number {
    return this.#slots - 1;
  }

  /** The last batch of the finished sequence when the marker was read; undefined at the beginning. */
  get last(): FinishedBatch | undefined {
    const done = new Map([...this.#done.values()].map(({ batch }) => [batch.number, batch]));
    const newest = Math.max(-1, ...done.keys());
    let number = Math.max(-1, newest - this.batchesMax);
    while (done.has(number + 1)) number++;
    return done.get(number);
  }

  /** Whether the batch was finished when the marker was read. Throws SettingsError if its content was different then. */
  has({ number, end, entryCount }: CopyBatch): boolean {
    const done = this.#done.get(number % this.#slots)?.batch;
    if (done?.number !== number) return false;
    if (done.space === end.space && done.id === end.id && done.entryCount === entryCount) return true;
    throw new SettingsError([
      'the source has changed since this copy began: stop the service, empty the target, and start the copy again',
    ]);
  }

  /** The write that records the batch, in the same commit as its entries. */
  write(batch: CopyBatch): Write {
    const slot = batch.number % this.#slots;
    const write = { space, id: `slot-${slot}`, value: recordText(batch) };
    const before = this.#done.get(slot)?.text;
    return before === undefined
      ? { kind: 'create', ...write, makeSpace: true }
      : { kind: 'replace', ...write, ifValue: before };
  }

  /** Whether the target has the batch now. */
  async isIn(target: Engine, batch: CopyBatch): Promise<boolean> {
    return (await target.get(space, `slot-${batch.number % this.#slots}`)) === recordText(batch);
  }

  /** Call it when the target has the batch. */
  noteDone(batch: CopyBatch): void {
    this.#note(describeBatch(batch), recordText(batch));
  }

  /** Removes the marker after the copy. Throws SettingsError if another process is still copying. */
  async remove(target: Engine): Promise<void> {
    const slots = [...this.#done].map(
      ([slot, { text }]): Write => ({ kind: 'delete', space, id: `slot-${slot}`, ifValue: text }),
    );
    try {
      const rejection = await target.commit([{ kind: 'delete', space, id: headId }, ...slots]);
      if (rejection === undefined) return;
    } catch (error) {
      if (!(error instanceof CommitUnknown)) throw error;
    }
    if ((await target.get(space, headId)) !== undefined)
      throw new SettingsError(['the marker of the copy could not be removed: run the same command again']);
  }

  #note(batch: FinishedBatch, text: string): void {
    this.#done.set(batch.number % this.#slots, { batch, text });
  }
}

/** Whether the target can have the space. Tries a commit that always fails. */
export async function canHold(target: Engine, other: Space): Promise<boolean> {
  const rejection = await target.commit([
    { kind: 'create', space: other, id: 'any', value: '', makeSpace: true },
    { kind: 'delete', space, id: 'none' },
  ]);
  return rejection?.reason !== 'space_missing';
}

/**
 * Throws SettingsError for the target of an unfinished copy: a service without all payments would charge some of them
 * again.
 */
export async function checkIsWhole(engine: Engine): Promise<void> {
  const head = await engine.get(space, headId);
  if (head === undefined) return;
  throw new SettingsError([
    `this store is the target of an unfinished copy from ${(JSON.parse(head) as CopyHead).source}; run that ` +
      '"store copy" again: it continues where it stopped',
  ]);
}

function describeBatch({ number, end, entryCount }: CopyBatch): FinishedBatch {
  return { number, ...end, entryCount };
}

function recordText(batch: CopyBatch): string {
  return JSON.stringify(describeBatch(batch));
}
