import { SettingsError } from '../../errors.ts';
import { CommitUnknown, type Engine, type Space, type Write } from '../engine.ts';
import { itemsOf } from '../item-text.ts';
import type { Batch, Place } from './entries.ts';
import { copyCommitsMax } from './limits.ts';

const space: Space = 'service:copying';
const headId = 'copy';

/** Which copying has this store as its target. */
interface Head {
  /** The source, as it is named. */
  readonly source: string;
  /** Whether the target need not have been empty. */
  readonly isIntoExisting: boolean;
  readonly slots: number;
}

/** A batch that is in the target. */
interface Done extends Place {
  readonly number: number;
  readonly entryCount: number;
}

/**
 * How far a copying has come, noted in its target, in the space `service:copying`: each batch notes itself in the
 * commit that writes it, so that what is noted is there, and what is there is noted.
 *
 * Batches are on their way several at once and may end in any order. Each has the slot of its number, modulo the number
 * of slots; of those there is one more than batches may be under way. So the last batch before which all are done
 * is always found in its slot, and the copying goes on behind it.
 */
export class Marker {
  readonly source: string;
  readonly isIntoExisting: boolean;
  readonly #slots: number;
  /** By slot. */
  readonly #done = new Map<number, { readonly batch: Done; readonly text: string }>();

  /** The marker of an unfinished copying, or undefined where there is none. */
  static async find(target: Engine): Promise<Marker | undefined> {
    const head = await target.get(space, headId);
    if (head === undefined) return undefined;
    const marker = new Marker(JSON.parse(head) as Head);
    const scan = await target.scan(space);
    for await (const { id, name: text } of itemsOf(scan?.chunks ?? [])) {
      if (id !== headId) marker.#note(JSON.parse(text) as Done, text);
    }
    return marker;
  }

  /** Notes that a copying begins. Throws SettingsError when another one has begun at the same moment. */
  static async begin(target: Engine, copying: Omit<Head, 'slots'>): Promise<Marker> {
    const head: Head = { ...copying, slots: copyCommitsMax + 1 };
    const value = JSON.stringify(head);
    const refusal = await target.commit([{ kind: 'create', space, id: headId, value, makeSpace: true }]);
    if (refusal !== undefined) throw new SettingsError(['another copying has just begun on this target']);
    return new Marker(head);
  }

  private constructor({ source, isIntoExisting, slots }: Head) {
    this.source = source;
    this.isIntoExisting = isIntoExisting;
    this.#slots = slots;
  }

  /** How far the first batch that is not done may be behind one that is begun. */
  get batchesMax(): number {
    return this.#slots - 1;
  }

  /** The last batch before which all are done, as it was when the marker was found; undefined for the beginning. */
  get last(): Done | undefined {
    const done = new Map([...this.#done.values()].map(({ batch }) => [batch.number, batch]));
    const newest = Math.max(-1, ...done.keys());
    let number = Math.max(-1, newest - this.batchesMax);
    while (done.has(number + 1)) number++;
    return done.get(number);
  }

  /** Whether the batch was done when the marker was found. Throws SettingsError when it was another one then. */
  has({ number, end, entryCount }: Batch): boolean {
    const done = this.#done.get(number % this.#slots)?.batch;
    if (done?.number !== number) return false;
    if (done.space === end.space && done.id === end.id && done.entryCount === entryCount) return true;
    throw new SettingsError([
      'the source has changed since this copying began: empty the target, and begin anew with the service stopped',
    ]);
  }

  /** What makes the batch done, together with its entries. */
  write(batch: Batch): Write {
    const slot = batch.number % this.#slots;
    const write = { space, id: `slot-${slot}`, value: textOf(batch) };
    const before = this.#done.get(slot)?.text;
    return before === undefined
      ? { kind: 'create', ...write, makeSpace: true }
      : { kind: 'replace', ...write, ifValue: before };
  }

  /** Whether the target has the batch now. */
  async isIn(target: Engine, batch: Batch): Promise<boolean> {
    return (await target.get(space, `slot-${batch.number % this.#slots}`)) === textOf(batch);
  }

  /** The target has the batch. */
  noteDone(batch: Batch): void {
    this.#note(doneOf(batch), textOf(batch));
  }

  /** The copying is done. Throws SettingsError when another one is still about it. */
  async remove(target: Engine): Promise<void> {
    const slots = [...this.#done].map(
      ([slot, { text }]): Write => ({ kind: 'delete', space, id: `slot-${slot}`, ifValue: text }),
    );
    try {
      const refusal = await target.commit([{ kind: 'delete', space, id: headId }, ...slots]);
      if (refusal === undefined) return;
    } catch (error) {
      if (!(error instanceof CommitUnknown)) throw error;
    }
    if ((await target.get(space, headId)) !== undefined)
      throw new SettingsError(['the marker of the copying could not be removed: run the same command again']);
  }

  #note(batch: Done, text: string): void {
    this.#done.set(batch.number % this.#slots, { batch, text });
  }
}

/** A commit that is always refused, and so tells whether the target can have the space. */
export async function canHold(target: Engine, other: Space): Promise<boolean> {
  const refusal = await target.commit([
    { kind: 'create', space: other, id: 'any', value: '', makeSpace: true },
    { kind: 'delete', space, id: 'none' },
  ]);
  return refusal?.reason !== 'space_missing';
}

/**
 * Throws SettingsError for a store to which not everything has been copied yet: a service that lacks payments would
 * take them a second time.
 */
export async function checkIsWhole(engine: Engine): Promise<void> {
  const head = await engine.get(space, headId);
  if (head === undefined) return;
  throw new SettingsError([
    `this store is the target of an unfinished copy from ${(JSON.parse(head) as Head).source}; run that ` +
      '"store copy" again, it goes on where it was',
  ]);
}

function doneOf({ number, end, entryCount }: Batch): Done {
  return { number, ...end, entryCount };
}

function textOf(batch: Batch): string {
  return JSON.stringify(doneOf(batch));
}
