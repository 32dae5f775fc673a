import { between, pick, type Random, randomFrom } from '../random.ts';
import type { Item, ItemWrite } from './table-operations.ts';

/** The state of an item after a write; without a name, the item does not exist. */
interface Version {
  readonly number: number;
  readonly name: string | undefined;
  /** The operation that wrote it. All versions of a batch exist, or none. */
  readonly operation?: Operation;
}

interface Watched {
  readonly id: string;
  /** The last version that was acknowledged, or found after a restart. */
  certain: Version;
  /** A version whose write is in progress, or whose response was lost: it may exist. */
  pending: Version | undefined;
  /** The number of the newest version that a reader has seen. */
  shown: number;
  /** The last number that was assigned. */
  last: number;
  /** The number of the last delete that was sent. */
  lastDelete: number;
  /** The numbers of writes that were rejected, so that no read may show them. */
  readonly void: Set<number>;
}

export interface Operation {
  readonly writes: readonly ItemWrite[];
  /** The result that the service must return, since only this caller writes these items. */
  readonly expected: 'done' | 'rejected';
}

/** The certain versions when a read began: the read must not show older ones. */
type Horizon = ReadonlyMap<string, Version>;

/** The share of operations whose condition does not hold, so that the service must reject them. */
const rejectedShare = 0.15;
const violationsShownMax = 5;

/**
 * Knows the states that a table may have. Each item is written by one caller at a time. So after a crash it has the
 * value of the last acknowledged write, or of the one write whose response was lost. If a reader has seen the latter,
 * it must be the latter.
 */
export class Witness {
  readonly #watched: ReadonlyMap<string, Watched>;

  constructor(ids: readonly string[]) {
    const nothing: Version = { number: 0, name: undefined };
    const start = { certain: nothing, pending: undefined, shown: 0, last: 0, lastDelete: 0 };
    this.#watched = new Map(ids.map((id) => [id, { id, ...start, void: new Set() }]));
  }

  /** Proposes one write, or a batch for several ids. Others must not write the items until it is settled. */
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

  /** Those of the ids whose state is certain, so that the result of a further write is known in advance. */
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

  /** The service reported that nothing was written, so that no read may show these writes. */
  reject({ writes }: Operation): void {
    for (const { id } of writes) {
      const item = this.#item(id);
      if (item.pending !== undefined) item.void.add(item.pending.number);
      item.pending = undefined;
    }
  }

  /** The items that are being written: a read may show the older or the newer version. */
  get pending(): readonly string[] {
    return [...this.#watched.values()].filter(({ pending }) => pending !== undefined).map(({ id }) => id);
  }

  beginRead(): Horizon {
    return new Map([...this.#watched.values()].map(({ id, certain }) => [id, certain]));
  }

  /** Checks a read of one item. @param name undefined if the item was not found */
  endReadOf(id: string, horizon: Horizon, name: string | undefined): void {
    throwIfAny(see(this.#item(id), horizon.get(id) as Version, name));
  }

  /** Checks a read of the table. @param isWhole false for a truncated response, in which items may be missing */
  endRead(horizon: Horizon, items: readonly Item[], isWhole: boolean): void {
    const seen = new Map(items.map(({ id, name }) => [id, name]));
    const violations = [...seen.keys()].filter((id) => !this.#watched.has(id)).map(unknownItem);
    for (const item of this.#watched.values()) {
      if (!isWhole && !seen.has(item.id)) continue;
      violations.push(...see(item, horizon.get(item.id) as Version, seen.get(item.id)));
    }
    throwIfAny(violations);
  }

  /** Compares the table after a restart with the states that it may have. The items found are certain from then on. */
  verify(items: readonly Item[]): void {
    const found = new Map(items.map(({ id, name }) => [id, name]));
    const violations = [...found.keys()].filter((id) => !this.#watched.has(id)).map(unknownItem);
    const happened = new Map<Operation, boolean>();
    for (const item of this.#watched.values()) {
      const name = found.get(item.id);
      const version = [item.certain, item.pending].find((each) => each !== undefined && each.name === name);
      if (version === undefined || version.number < item.shown) {
        violations.push(`${describe(item)}, but the table has ${shortly(name)}`);
        continue;
      }
      const { operation } = item.pending ?? {};
      const isNew = version === item.pending;
      if (operation !== undefined && (happened.get(operation) ?? isNew) !== isNew)
        violations.push(`only a part of a batch was written: "${item.id}" is ${isNew ? 'new' : 'old'}`);
      if (operation !== undefined) happened.set(operation, isNew);
      item.certain = version;
      item.pending = undefined;
      item.shown = version.number;
    }
    throwIfAny(violations);
  }

  #item(id: string): Watched {
    const item = this.#watched.get(id);
    if (item === undefined) throw new RangeError(`"${id}" is not watched`);
    return item;
  }
}

interface Wish {
  readonly random: Random;
  /** Whether the write's condition shall hold. */
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

/** Records the version of an item that a reader saw. @returns what is wrong with it */
function see(item: Watched, horizon: Version, name: string | undefined): string[] {
  if (name === undefined) {
    if (horizon.name === undefined) return [];
    // A later write has deleted the item.
    item.shown = Math.max(item.shown, horizon.number + 1);
    const mayBeGone = item.lastDelete > horizon.number;
    return mayBeGone ? [] : [`"${item.id}" is missing from a read, though it was not deleted`];
  }
  const number = numberIn(item.id, name);
  if (Number.isNaN(number) || number > item.last || item.void.has(number))
    return [`"${item.id}" was read as ${shortly(name)}, which no write has written`];
  if (number < horizon.number)
    return [`"${item.id}" was read as of write ${number}, though ${horizon.number} was acknowledged before`];
  item.shown = Math.max(item.shown, number);
  return [];
}

function describe({ id, certain, pending, shown }: Watched): string {
  const under = pending === undefined ? '' : `, perhaps ${pending.number}: ${shortly(pending.name)}`;
  return `"${id}" was acknowledged as ${certain.number}: ${shortly(certain.name)}${under}, shown as ${shown}`;
}

function shortly(name: string | undefined): string {
  if (name === undefined) return 'nothing';
  return name.length > 30 ? `${JSON.stringify(name.slice(0, 30))}…(${name.length})` : JSON.stringify(name);
}

function unknownItem(id: string): string {
  return `"${id}" exists, though it was not written`;
}

function throwIfAny(violations: readonly string[]): void {
  if (violations.length === 0) return;
  const more = violations.length - violationsShownMax;
  const lines = violations.slice(0, violationsShownMax).join('\n');
  throw new Error(`${lines}${more > 0 ? `\nand ${more} more` : ''}`);
}

/**
 * The name that write number `number` gives an item. It begins with the number and depends only on id and number, so
 * that every name that is read can be compared with the one that was written, byte for byte.
 */
function nameOf(id: string, number: number): string {
  const random = randomFrom(hashOf(`${id} ${number}`));
  const unit = pick(random, units);
  const [from, to] = pick(random, lengths);
  return `${number}:${unit.repeat(Math.ceil(between(random, from, to) / unit.length))}`;
}

/** The number of the write that gave this name, or NaN if no write did. */
function numberIn(id: string, name: string): number {
  const number = Number.parseInt(name, 10);
  return name === nameOf(id, number) ? number : Number.NaN;
}

/** Texts that JSON escapes, and characters of one to four bytes. */
const units = ['x', 'abcdefgh', '"', '\\', '\n\u0001', 'é', '\u20ac', '\u{1f4d6}', '","name":"', '},{"id":"'];
/** Mostly small items, some longer than a disk page, a few as long as many pages. */
const lengths: readonly (readonly [number, number])[] = [
  ...Array<[number, number]>(24).fill([0, 200]),
  ...Array<[number, number]>(5).fill([200, 5_000]),
  [5_000, 40_000],
];

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
