import type { ItemWrite } from '../tables/table-operations.ts';

/**
 * Checks whether a history of a table is linearizable: its operations could have taken effect one at a time, each
 * between its call and its return. The map of all items is one object, because a read shows them all at once.
 *
 * The algorithm is Lowe's just-in-time variant of Wing and Gong's: it goes through the calls and returns in their
 * order, with the set of all configurations that are possible so far (a state of the table, and which of the open
 * operations have taken effect). An operation takes effect only when its return, or that of another operation that
 * needs it, requires it. Equal configurations are merged, and those that contradict a return are dropped. When none is
 * left, the history is not linearizable.
 */
export interface Operation {
  readonly call: Call;
  /** Times of one clock that advances at each call and each return. */
  readonly calledAt: number;
  /** For an unknown outcome: the time after which it cannot take effect any more; Infinity if it always can. */
  readonly returnedAt: number;
  readonly outcome: Outcome;
}

/** A call without writes is a read. Several writes take effect together or, if one is rejected, not at all. */
export interface Call {
  readonly caller: string;
  readonly writes: readonly ItemWrite[];
}

export type Outcome =
  | { readonly kind: 'done' }
  /** A condition did not hold: a create found the item, or an update or a delete found none. */
  | { readonly kind: 'rejected' }
  | { readonly kind: 'unknown' }
  /** `only`: the read was of this item alone, and shows nothing of the others. */
  | { readonly kind: 'read'; readonly items: ReadonlyMap<string, string>; readonly only?: string };

export interface Violation {
  /** The first operation whose outcome fits no order. */
  readonly operation: Operation;
  /** The states that the table may have had when it returned. */
  readonly states: readonly ReadonlyMap<string, string>[];
  /** The operations that were open then. */
  readonly open: readonly Operation[];
}

/** One state of the table: a name per id, in the order of the ids; undefined for an item that does not exist. */
type State = readonly (string | undefined)[];

interface Configuration {
  readonly state: State;
  /** One bit per slot, set if the open operation in it has taken effect. */
  readonly effected: number;
}

/** One bit each in a small integer. */
const openOperationsMax = 30;
/** A history that needs more has too many concurrent operations to check; those of the tests need a few hundred. */
const configurationsMax = 500_000;
const statesShownMax = 5;

/** @returns undefined for a history that is linearizable, starting with an empty table */
export function violationIn(history: readonly Operation[]): Violation | undefined {
  const search = new Search(history);
  for (const { operation, isReturn } of eventsOf(history)) {
    if (!isReturn) search.open(operation);
    else if (!search.complete(operation)) return search.violation(operation);
  }
  return undefined;
}

function eventsOf(history: readonly Operation[]): { operation: Operation; isReturn: boolean }[] {
  const calls = history.map((operation) => ({ at: operation.calledAt, operation, isReturn: false }));
  const responses = history.map((operation) => ({ at: operation.returnedAt, operation, isReturn: true }));
  return [...calls, ...responses].filter(({ at }) => at !== Infinity).sort((a, b) => a.at - b.at);
}

class Search {
  readonly #ids: readonly string[];
  readonly #indexes: ReadonlyMap<string, number>;
  #configurations = new Map<string, Configuration>();
  #before: readonly Configuration[] = [];
  /** By slot. */
  readonly #open: (Operation | undefined)[] = [];

  constructor(history: readonly Operation[]) {
    const ids = history.flatMap(({ call, outcome }) => [
      ...call.writes.map(({ id }) => id),
      ...(outcome.kind === 'read' ? outcome.items.keys() : []),
    ]);
    this.#ids = [...new Set(ids)].sort();
    this.#indexes = new Map(this.#ids.map((id, index) => [id, index]));
    this.#keep(this.#configurations, { state: this.#ids.map(() => undefined), effected: 0 });
  }

  open(operation: Operation): void {
    const free = this.#open.indexOf(undefined);
    const slot = free === -1 ? this.#open.length : free;
    if (slot >= openOperationsMax) throw new RangeError(`more than ${openOperationsMax} operations are open`);
    this.#open[slot] = operation;
    if (hasEffect(operation)) return;
    const marked = new Map<string, Configuration>();
    for (const each of this.#configurations.values()) this.#keep(marked, this.#withPassive(each));
    this.#configurations = marked;
  }

  /** @returns whether any configuration fits the outcome of the operation */
  complete(operation: Operation): boolean {
    const slot = this.#open.indexOf(operation);
    const bit = 1 << slot;
    const fitting = new Map<string, Configuration>();
    const tried = new Set<string>();
    for (const each of this.#configurations.values()) {
      const isEffected = (each.effected & bit) !== 0;
      // An operation with an unknown outcome may never have happened.
      if (isEffected || operation.outcome.kind === 'unknown') this.#keep(fitting, without(each, bit));
      if (!isEffected) this.#effectUntil(bit, each, fitting, tried);
    }
    this.#before = [...this.#configurations.values()];
    this.#configurations = fitting;
    if (fitting.size > 0) this.#open[slot] = undefined;
    return fitting.size > 0;
  }

  violation(operation: Operation): Violation {
    const states = new Map(this.#before.map(({ state }) => [keyOf({ state, effected: 0 }), state]));
    const shown = [...states.values()].slice(0, statesShownMax);
    return {
      operation,
      states: shown.map((state) => this.#itemsOf(state)),
      open: this.#open.filter((each) => each !== undefined && each !== operation) as Operation[],
    };
  }

  /** Tries every sequence of open operations that ends with the operation of the bit. */
  #effectUntil(
    bit: number,
    from: Configuration,
    fitting: Map<string, Configuration>,
    tried: Set<string>,
  ): void {
    const key = keyOf(from);
    if (tried.has(key)) return;
    tried.add(key);
    for (const [slot, operation] of this.#open.entries()) {
      if (operation === undefined || (from.effected & (1 << slot)) !== 0 || !hasEffect(operation)) continue;
      const state = this.#after(from.state, operation.call.writes);
      if (state === undefined) continue;
      const next = this.#withPassive({ state, effected: from.effected | (1 << slot) });
      if ((next.effected & bit) !== 0) this.#keep(fitting, without(next, bit));
      else this.#effectUntil(bit, next, fitting, tried);
    }
  }

  /**
   * Open operations that change nothing take effect as soon as the state fits their outcome: an earlier time never
   * excludes an order of the others.
   */
  #withPassive({ state, effected }: Configuration): Configuration {
    let marked = effected;
    for (const [slot, operation] of this.#open.entries()) {
      if (operation !== undefined && !hasEffect(operation) && this.#fits(state, operation))
        marked |= 1 << slot;
    }
    return { state, effected: marked };
  }

  #fits(state: State, { call, outcome }: Operation): boolean {
    if (outcome.kind === 'rejected') return this.#after(state, call.writes) === undefined;
    if (outcome.kind !== 'read') return false;
    const { items, only } = outcome;
    return this.#ids.every((id, index) => (only ?? id) !== id || state[index] === items.get(id));
  }

  /** @returns undefined when a condition does not hold */
  #after(state: State, writes: readonly ItemWrite[]): State | undefined {
    const next = [...state];
    for (const write of writes) {
      const index = this.#indexes.get(write.id) as number;
      if ((state[index] === undefined) !== (write.kind === 'create')) return undefined;
      next[index] = write.kind === 'delete' ? undefined : write.name;
    }
    return next;
  }

  #itemsOf(state: State): Map<string, string> {
    const items = this.#ids.map((id, index) => [id, state[index]] as const);
    return new Map(items.filter((item): item is [string, string] => item[1] !== undefined));
  }

  #keep(into: Map<string, Configuration>, configuration: Configuration): void {
    into.set(keyOf(configuration), configuration);
    if (into.size > configurationsMax) throw new RangeError('the history has too many concurrent operations');
  }
}

function hasEffect({ outcome }: Operation): boolean {
  return outcome.kind === 'done' || outcome.kind === 'unknown';
}

function without({ state, effected }: Configuration, bit: number): Configuration {
  return { state, effected: effected & ~bit };
}

function keyOf({ state, effected }: Configuration): string {
  return `${effected} ${state.map((name) => (name === undefined ? '-' : `${name.length}:${name}`)).join(' ')}`;
}
