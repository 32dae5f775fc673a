import type { Random } from '../random.ts';
import { between, pick } from '../random.ts';
import type { Item, ItemWrite } from './table-operations.ts';
import { nameOf, numberIn } from './watched-names.ts';

/** What a write makes of an item; without a name the item is not there. */
interface Version {
  readonly number: number;
  readonly name: string | undefined;
  /** The operation it belongs to: with a batch, all of its versions come to be or none. */
  readonly operation?: Operation;
}

interface Watched {
  readonly id: string;
  /** The last version that was acknowledged, or found after a reopening. */
  certain: Version;
  /** A version whose write is under way, or whose response was lost: it may have come to be. */
  pending: Version | undefined;
  /** The number of the newest version that a reader has seen. */
  shown: number;
  /** The last number that was given out. */
  last: number;
  /** The number of the last delete that was sent. */
  lastDelete: number;
  /** The numbers of writes that changed nothing, so that nobody may ever see them. */
  readonly void: Set<number>;
}

export interface Operation {
  readonly writes: readonly ItemWrite[];
  /** What the service has to response, as far as anybody but this caller leaves these items alone. */
  readonly expected: 'done' | 'rejected';
}

/** The numbers of the certain versions when a read began: what it shows must not be older. */
export type Horizon = ReadonlyMap<string, Version>;

/** The share of operations whose condition does not hold, so that a refusal is what they must be answered. */
const rejectedShare = 0.15;
const violationsShownMax = 5;

/**
 * Knows what a table may hold. Each item is written by one caller at a time, so that after any end of the service it
 * reads as the last acknowledged write left it, or as the one write did whose response never came; as the latter for
 * certain, once a reader has seen that.
 */
export class Witness {
  readonly #watched: ReadonlyMap<string, Watched>;

  constructor(ids: readonly string[]) {
    const nothing: Version = { number: 0, name: undefined };
    const start = { certain: nothing, pending: undefined, shown: 0, last: 0, lastDelete: 0 };
    this.#watched = new Map(ids.map((id) => [id, { id, ...start, void: new Set() }]));
  }

  /** One write, or with several ids a batch of them. The items may not be written by others until it is settled. */
  propose(ids: readonly string[], random: Random): Operation {
    const items = ids.map((id) => this.#item(id));
    const isRejected = random() < rejectedShare;
    const wrong = isRejected ? between(random, 0, items.length - 1) : -1;
    const writes = items.map((item, index) => writeFor(item, { random, holds: index !== wrong }));
    const operation: Operation = { writes, expected: isRejected ? 'rejected' : 'done' };
    for (const [index, item] of items.entries()) {
      const write = writes[index] as ItemWrite;
      if (isRejected) item.void.add(item.last);
      else if (write.kind === 'delete') {
        item.lastDelete = item.last;
        item.pending = { number: item.last, name: undefined, operation };
      } else item.pending = { number: item.last, name: write.name, operation };
    }
    return operation;
  }

  /** The ids among these whose state is certain, so that the response to a further write can be foretold. */
  settled(ids: readonly string[]): readonly string[] {
    return ids.filter((id) => this.#item(id).pending === undefined);
  }

  acknowledge({ writes }: Operation): void {
    for (const { id } of writes) {
      const item = this.#item(id);
      item.certain = item.pending ?? item.certain;
      item.pending = undefined;
    }
  }

  /** The service said that nothing was written, so that nothing of it may ever be seen. */
  reject({ writes }: Operation): void {
    for (const { id } of writes) {
      const item = this.#item(id);
      if (item.pending !== undefined) item.void.add(item.pending.number);
      item.pending = undefined;
    }
  }

  /** The items that are being written: what is read of them may be older or newer. */
  get pending(): readonly string[] {
    return [...this.#watched.values()].filter(({ pending }) => pending !== undefined).map(({ id }) => id);
  }

  beginRead(): Horizon {
    return new Map([...this.#watched.values()].map(({ id, certain }) => [id, certain]));
  }

  /** For a read of one item, which it may have found or not. */
  endReadOf(id: string, horizon: Horizon, name: string | undefined): void {
    tell(see(this.#item(id), horizon.get(id) as Version, name));
  }

  /** @param isWhole false for a response that was broken off: then an item that is missing says nothing */
  endRead(horizon: Horizon, items: readonly Item[], isWhole: boolean): void {
    const seen = new Map(items.map(({ id, name }) => [id, name]));
    const violations = [...seen.keys()].filter((id) => !this.#watched.has(id)).map(unknownItem);
    for (const item of this.#watched.values()) {
      if (!isWhole && !seen.has(item.id)) continue;
      violations.push(...see(item, horizon.get(item.id) as Version, seen.get(item.id)));
    }
    tell(violations);
  }

  /** Holds everything the table has, after a reopening, against what it may have; from then on that is certain. */
  verify(items: readonly Item[]): void {
    const found = new Map(items.map(({ id, name }) => [id, name]));
    const violations = [...found.keys()].filter((id) => !this.#watched.has(id)).map(unknownItem);
    const came = new Map<Operation, boolean>();
    for (const item of this.#watched.values()) {
      const name = found.get(item.id);
      const version = [item.certain, item.pending].find((each) => each !== undefined && each.name === name);
      if (version === undefined || version.number < item.shown) {
        violations.push(`${told(item)}, and holds ${shortly(name)}`);
        continue;
      }
      const { operation } = item.pending ?? {};
      const isNew = version === item.pending;
      if (operation !== undefined && (came.get(operation) ?? isNew) !== isNew)
        violations.push(`"${item.id}" has ${isNew ? 'its' : 'no'} part of a batch, another item not`);
      if (operation !== undefined) came.set(operation, isNew);
      item.certain = version;
      item.pending = undefined;
      item.shown = version.number;
    }
    tell(violations);
  }

  #item(id: string): Watched {
    const item = this.#watched.get(id);
    if (item === undefined) throw new RangeError(`nobody watches "${id}"`);
    return item;
  }
}

interface Wish {
  readonly random: Random;
  /** Whether the write's condition is to hold. */
  readonly holds: boolean;
}

function writeFor(item: Watched, { random, holds }: Wish): ItemWrite {
  item.last++;
  const isThere = item.certain.name !== undefined;
  const { id } = item;
  const kinds: ItemWrite['kind'][] = isThere === holds ? ['update', 'update', 'delete'] : ['create'];
  const kind = pick(random, kinds);
  return kind === 'delete' ? { kind, id } : { kind, id, name: nameOf(id, item.last) };
}

/** What a reader's view of an item proves, and what is wrong with it. */
function see(item: Watched, horizon: Version, name: string | undefined): string[] {
  if (name === undefined) {
    if (horizon.name === undefined) return [];
    // What was there has been deleted since, by a later write.
    item.shown = Math.max(item.shown, horizon.number + 1);
    const mayBeGone = item.lastDelete > horizon.number;
    return mayBeGone ? [] : [`"${item.id}" was not in a read, though nobody deleted it`];
  }
  const number = numberIn(item.id, name);
  if (Number.isNaN(number) || number > item.last || item.void.has(number))
    return [`"${item.id}" was read as ${shortly(name)}, which no write has made of it`];
  if (number < horizon.number)
    return [`"${item.id}" was read as of write ${number}, though ${horizon.number} was acknowledged before`];
  item.shown = Math.max(item.shown, number);
  return [];
}

function told({ id, certain, pending, shown }: Watched): string {
  const under = pending === undefined ? '' : `, perhaps ${pending.number}: ${shortly(pending.name)}`;
  return `"${id}" was acknowledged as ${certain.number}: ${shortly(certain.name)}${under}, shown as ${shown}`;
}

function shortly(name: string | undefined): string {
  if (name === undefined) return 'nothing';
  return name.length > 30 ? `${JSON.stringify(name.slice(0, 30))}…(${name.length})` : JSON.stringify(name);
}

function unknownItem(id: string): string {
  return `"${id}" is there, though nobody wrote it`;
}

function tell(violations: readonly string[]): void {
  if (violations.length === 0) return;
  const more = violations.length - violationsShownMax;
  const lines = violations.slice(0, violationsShownMax).join('\n');
  throw new Error(`${lines}${more > 0 ? `\nand ${more} more` : ''}`);
}
