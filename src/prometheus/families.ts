import type { Aggregator, MetricValue, MetricValues } from '../telemetry.ts';

/*
 * Counters as plain numbers. prom-client's counters build a key from the labels at every count, which costs about as much
 * as all other HTTP handling of a small request. Here a child is looked up once, and counting is an addition. `snapshot`
 * returns prom-client's JSON shape, which prom-client merges and prints.
 */
export interface Family {
  snapshot(): MetricValues;
}

interface FamilyHead {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/** A character that cannot occur in our labels. */
const separator = '\u0000';

class Children<Child> {
  readonly #children = new Map<string, Child>();
  readonly #make: () => Child;

  constructor(make: () => Child) {
    this.#make = make;
  }

  of(values: readonly string[]): Child {
    const key = values.join(separator);
    const known = this.#children.get(key);
    if (known !== undefined) return known;
    const made = this.#make();
    this.#children.set(key, made);
    return made;
  }

  /** All children, each with its labels. */
  all(names: readonly string[]): readonly (readonly [Record<string, string>, Child])[] {
    return Array.from(this.#children, ([key, child]) => {
      const values = key.split(separator);
      return [Object.fromEntries(names.map((name, index) => [name, values[index] ?? ''])), child] as const;
    });
  }
}

export interface Count {
  value: number;
}

/** A count that only increases. */
export class CounterFamily implements Family {
  readonly #head: FamilyHead;
  readonly #children = new Children<Count>(() => ({ value: 0 }));

  constructor(head: FamilyHead) {
    this.#head = head;
    // A counter without labels exists from the start, at 0.
    if (head.labels === undefined) this.of();
  }

  of(...values: readonly string[]): Count {
    return this.#children.of(values);
  }

  snapshot(): MetricValues {
    const { name, help, labels = [] } = this.#head;
    const values = this.#children.all(labels).map(([pairs, { value }]) => ({ value, labels: pairs }));
    return { name, help, type: 'counter', aggregator: 'sum', values };
  }
}

/** A number that is read at each scrape; undefined is left out. */
export class GaugeFamily implements Family {
  readonly #head: FamilyHead & { readonly aggregator: Aggregator; readonly type?: 'counter' };
  readonly #value: () => number | undefined;

  constructor(
    head: FamilyHead & { readonly aggregator: Aggregator; readonly type?: 'counter' },
    value: () => number | undefined,
  ) {
    this.#head = head;
    this.#value = value;
  }

  snapshot(): MetricValues {
    const { name, help, aggregator, type = 'gauge' } = this.#head;
    const value = this.#value();
    return { name, help, type, aggregator, values: value === undefined ? [] : [{ value, labels: {} }] };
  }
}

/** A histogram: how often a value was at most each bound. */
export class Distribution {
  readonly #bounds: Float64Array;
  /** Counts by bound, and one more beyond the last bound. Each value counts once. */
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = Float64Array.from(bounds);
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] as number)) index++;
    this.#counts[index] = (this.#counts[index] as number) + 1;
    this.#sum += value;
  }

  snapshot(name: string, labels: Readonly<Record<string, string>>): MetricValue[] {
    let count = 0;
    const buckets = Array.from(this.#counts, (each, index): MetricValue => {
      count += each;
      const le = this.#bounds[index] ?? '+Inf';
      return { metricName: `${name}_bucket`, value: count, labels: { le, ...labels } };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, value: this.#sum, labels },
      { metricName: `${name}_count`, value: count, labels },
    ];
  }
}

export class HistogramFamily implements Family {
  readonly #head: FamilyHead;
  readonly #children: Children<Distribution>;

  constructor(head: FamilyHead & { readonly bounds: readonly number[] }) {
    this.#head = head;
    this.#children = new Children(() => new Distribution(head.bounds));
    if (head.labels === undefined) this.of();
  }

  of(...values: readonly string[]): Distribution {
    return this.#children.of(values);
  }

  snapshot(): MetricValues {
    const { name, help, labels = [] } = this.#head;
    const values = this.#children.all(labels).flatMap(([pairs, child]) => child.snapshot(name, pairs));
    return { name, help, type: 'histogram', aggregator: 'sum', values };
  }
}
