/**
 * The port to whoever counts what the service does, for its operator. Every argument that becomes a label is of a
 * closed set: the pattern of a route and never a path, a configured processor, a known provider, a code of a closed
 * list. Nothing that a caller sends is among them. Counting never throws and never waits.
 */
export interface Metrics {
  /** Requests of one route; found once, when the route is added, so that a request costs no look-up. */
  ofRoute(method: string, route: string): RequestCount;
  /** A request that reached no route. */
  unrouted(method: string, status: number): void;
  /** An answer that was a refusal or a failure, by its code. */
  failed(code: string): void;
  /** A commit, from its being asked for until its outcome was known. */
  commit(outcome: CommitOutcome, ms: number): void;
  /** Commits asked for and not yet answered: `change` more. */
  commitsInFlight(change: 1 | -1): void;
  /** One transaction of the embedded store, its flush included. @param commits that shared it */
  flush(ms: number, commits: number): void;
  /** A charge has come to a state. @param route its configured payment route */
  charge(processor: string, route: string, state: string): void;
  /** A charge that was taken for declined has been made, as the processor has proven. */
  chargeOverridden(processor: string): void;
  /** A refund has come to a state. */
  refund(processor: string, state: string): void;
  /** What the last round of recovery has seen. */
  openPayments(open: OpenPayments): void;
  /** A processor's event (webhook). */
  event(processor: string, outcome: EventOutcome): void;
  /** @param outcome `begun`, `finished`, or why it was refused */
  signIn(provider: string, outcome: string): void;
}

export interface RequestCount {
  answered(status: number, ms: number): void;
}

/** `refused`: a condition did not hold. The rest are the codes with which an engine rejects. */
export type CommitOutcome =
  | 'committed'
  | 'refused'
  | 'overloaded'
  | 'storage_full'
  | 'unavailable'
  | 'unknown'
  | 'failed';

export type EventOutcome = 'taken' | 'repeated' | 'irrelevant' | 'forged' | 'not_configured' | 'not_yet';

export interface OpenPayments {
  /** Charges that have not ended, those being asked for among them. */
  readonly charges: number;
  readonly chargesInDoubt: number;
  readonly refunds: number;
  /** When the oldest charge in doubt was received, in milliseconds since 1970; undefined where there is none. */
  readonly oldestInDoubtAt: number | undefined;
}

/** What a process has counted, as plain data that it can send to another. */
export type MetricsSnapshot = readonly MetricValues[];

export interface MetricValues {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** How the numbers of several processes become one. */
  readonly aggregator: Aggregator;
  readonly values: readonly MetricValue[];
}

export interface MetricValue {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  /** Of a histogram: which of its numbers it is. */
  readonly metricName?: string;
}

/** `sum` over the processes, the `max` of them, or the `min`. */
export type Aggregator = 'sum' | 'max' | 'min';

/** Counts nothing: for commands, and for tests of one part. */
export const noMetrics: Metrics = {
  ofRoute: () => ({ answered: () => undefined }),
  unrouted: () => undefined,
  failed: () => undefined,
  commit: () => undefined,
  commitsInFlight: () => undefined,
  flush: () => undefined,
  charge: () => undefined,
  chargeOverridden: () => undefined,
  refund: () => undefined,
  openPayments: () => undefined,
  event: () => undefined,
  signIn: () => undefined,
};
