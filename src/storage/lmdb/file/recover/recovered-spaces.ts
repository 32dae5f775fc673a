import type { Space } from '../../../engine.ts';
import type { Item } from '../../../item-text.ts';
import { parseSpace } from '../databases.ts';
import { itemCount, runText } from '../sorted-run.ts';
import type { Salvaged, SalvagedLeaf } from './salvage.ts';

/** What is missing of a space. */
export interface RecoveredSpace {
  readonly space: Space;
  /** The number of saved items. */
  readonly items: number;
  /** The number of items by the store's own count; undefined if the count is lost too. */
  readonly expected: number | undefined;
  /** The ranges of ids that are lost. */
  readonly lost: readonly LostRange[];
}

interface LostRange {
  /** The last id before the range; undefined if the range begins with the first id. */
  readonly after: string | undefined;
  /** The last id of the range; undefined if the range ends with the last id. */
  readonly upTo: string | undefined;
}

/** The items of a space in the journal entries and leaves that were found. */
export class RecoverableSpace {
  readonly space: Space;
  readonly expected: number | undefined;
  readonly lost: readonly LostRange[];
  readonly #leaves: readonly SalvagedLeaf[];
  /** The last change of each item in the journal; null for a deleted one. */
  readonly #changes: ReadonlyMap<string, string | null>;

  constructor(
    space: Space,
    leaves: readonly SalvagedLeaf[],
    changes: ReadonlyMap<string, string | null>,
    facts: Pick<RecoveredSpace, 'expected' | 'lost'>,
  ) {
    this.space = space;
    this.#leaves = leaves;
    this.#changes = changes;
    this.expected = facts.expected;
    this.lost = facts.lost;
  }

  /** All items. An item that was found twice is returned twice, its newer version last. */
  *items(): Generator<Item> {
    for (const { read } of this.#leaves) {
      const run = read();
      if (itemCount(run) === 0) continue;
      for (const item of JSON.parse(`[${runText(run).toString()}]`) as Item[])
        if (!this.#changes.has(item.id)) yield item;
    }
    for (const [id, name] of this.#changes) if (name !== null) yield { id, name };
  }
}

/** All spaces with at least one readable value, sorted by name. */
export function recoverableSpaces(salvaged: Salvaged): RecoverableSpace[] {
  const { leaves, journal, records, damagedLeaves, mayBeOld } = salvaged;
  const journaled = groupChanges(journal);
  const found = new Map<Space, SalvagedLeaf[]>();
  for (const leaf of leaves) group(found, parseSpace(leaf.key), leaf);
  const damaged = new Map<Space, string[]>();
  for (const key of damagedLeaves) group(damaged, parseSpace(key), key);
  const names = new Set([...found.keys(), ...damaged.keys(), ...records.keys(), ...journaled.keys()]);
  return [...names].sort().flatMap((space) => {
    const {
      changes = new Map<string, string | null>(),
      count,
      isRemoved = false,
    } = journaled.get(space) ?? {};
    if (isRemoved) return [];
    const own = found.get(space) ?? [];
    const inOrder = mayBeOld ? own.toSorted((a, b) => a.transaction - b.transaction) : own;
    const lost = lostRanges(space, own, damaged.get(space) ?? []);
    return [
      new RecoverableSpace(space, inOrder, changes, { expected: count ?? records.get(space)?.count, lost }),
    ];
  });
}

interface Journaled {
  changes: Map<string, string | null>;
  count: number | undefined;
  isRemoved: boolean;
}

function groupChanges(journal: Salvaged['journal']): Map<Space, Journaled> {
  const bySpace = new Map<Space, Journaled>();
  for (const [, { spaces }] of [...journal].sort(([a], [b]) => a - b)) {
    for (const [space, count, , changes, isRemoved] of spaces) {
      const known = bySpace.get(space)?.changes ?? new Map<string, string | null>();
      for (let n = 0; n < changes.length; n += 2) known.set(changes[n] as string, changes[n + 1] ?? null);
      bySpace.set(space, { changes: known, count, isRemoved: isRemoved === true });
    }
  }
  return bySpace;
}

/** The range of ids that each damaged leaf held: from the key of the previous leaf, exclusive, to its own key. */
function lostRanges(space: Space, leaves: readonly SalvagedLeaf[], damaged: readonly string[]): LostRange[] {
  const keys = [...leaves.map(({ key }) => key), ...damaged].sort();
  return damaged.map((key) => ({
    after: parseId(space, keys[keys.indexOf(key) - 1]),
    upTo: parseId(space, key),
  }));
}

/** The id up to which a leaf has items; undefined for the last leaf. */
function parseId(space: Space, key: string | undefined): string | undefined {
  if (key === undefined || key === `${space}\x01`) return undefined;
  return Buffer.from(key.slice(space.length + 1), 'latin1').toString();
}

function group<Key, Value>(groups: Map<Key, Value[]>, key: Key, value: Value): void {
  const known = groups.get(key);
  if (known === undefined) groups.set(key, [value]);
  else known.push(value);
}
