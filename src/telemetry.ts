/**
 * The port for metrics. Every argument that becomes a label is from a closed set: the pattern of a route and never a path,
 * a configured processor, a known provider, a code of a closed list. Nothing that a caller sends becomes a label. Counting
 * never throws and never waits.
 */
export interface Metrics {
  /** Requests of one route. Call it once, when the route is added, so that a request costs no look-up. */
  ofRoute(method: string, route: string): RequestCount;
  /** A request that reached no route. */
  unrouted(method: string, status: number): void;
  /** An error response, by its code. */
  failed(code: string): void;
  /** A commit, timed from its request until its outcome is known. */
  commit(outcome: CommitOutcome, ms: number): void;
  /** Adds `change` to the number of commits without an outcome. */
  commitsInFlight(change: 1 | -1): void;
  /** One transaction of the embedded store, including its flush. @param commits how many commits shared it */
  flush(ms: number, commits: number): void;
  /** The embedded store has ended the snapshot of a slow read, so that the read breaks off. */
  readCutOff(): void;
  /** A process has found a value of the embedded store whose checksum is wrong. */
  storeDamaged(): void;
  /** A charge has changed to a state. @param route its configured payment route */
  charge(processor: string, route: string, state: string): void;
  /** A charge was recorded as declined, but the processor has proved that it succeeded. */
  chargeOverridden(processor: string): void;
  /** A refund has changed to a state. */
  refund(processor: string, state: string): void;
  /** Open payments that the last run of recovery found. */
  openPayments(open: OpenPayments): void;
  /** A processor's event (webhook). */
  event(processor: string, outcome: EventOutcome): void;
  /** What is known of the backups that this process makes; undefined if another one makes them. */
  backup(status: BackupStatus | undefined): void;
  /** A backup, or a round of continuous backup, failed. */
  backupFailed(what: 'snapshot' | 'continuous'): void;
  /** @param outcome `begun`, `finished`, or the reason of the rejection */
  signIn(provider: string, outcome: string): void;
}

/** Milliseconds since 1970. What is missing stays as it was. */
export interface BackupStatus {
  /** When the newest good backup was made. */
  readonly madeAt?: number;
  /** Everything that was committed before is in segments. */
  readonly archivedUpTo?: number;
}

export interface RequestCount {
  responded(status: number, ms: number): void;
}

/** `rejected`: a condition did not hold. The values after it are error codes of an engine. */
export type CommitOutcome =
  | 'committed'
  | 'rejected'
  | 'overloaded'
  | 'storage_full'
  | 'unavailable'
  | 'unknown'
  | 'failed';

export type EventOutcome =
  | 'taken'
  | 'repeated'
  | 'irrelevant'
  | 'invalid_signature'
  | 'not_configured'
  | 'not_yet';

export interface OpenPayments {
  /** Charges without a final state, including those that are being sent to the processor. */
  readonly charges: number;
  readonly chargesInDoubt: number;
  readonly refunds: number;
  /** When the oldest charge in doubt was received, in milliseconds since 1970; undefined without one. */
  readonly oldestInDoubtAt: number | undefined;
}

/** The metrics of one process, as plain data that it can send to another. */
export type MetricsSnapshot = readonly MetricValues[];

export interface MetricValues {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** How the values of several processes are combined. */
  readonly aggregator: Aggregator;
  readonly values: readonly MetricValue[];
}

export interface MetricValue {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  /** Of a histogram: the name of this series. */
  readonly metricName?: string;
}

/** The sum, maximum or minimum over the processes. */
export type Aggregator = 'sum' | 'max' | 'min';

/** Counts nothing: for commands and unit tests. */
export const noMetrics: Metrics = {
  ofRoute: () => ({ responded: () => undefined }),
  unrouted: () => undefined,
  failed: () => undefined,
  commit: () => undefined,
  commitsInFlight: () => undefined,
  flush: () => undefined,
  readCutOff: () => undefined,
  storeDamaged: () => undefined,
  charge: () => undefined,
  chargeOverridden: () => undefined,
  refund: () => undefined,
  openPayments: () => undefined,
  event: () => undefined,
  backup: () => undefined,
  backupFailed: () => undefined,
  signIn: () => undefined,
};

/**
 * The port for traces: one span for a charge, and one for each of its steps. A span contains only the fields named here,
 * and nothing else of a request, a payment or an error. A trace is never passed on to a processor.
 */
export interface Traces {
  /**
   * One charge, from its request or the start of its recovery to its response.
   *
   * @param traceparent as the caller sent it (W3C Trace Context, 3.2); any other value begins a new trace
   */
  charge<Result>(
    start: { readonly name: 'charge' | 'recover_charge'; readonly traceparent?: string | undefined },
    work: (trace: Trace) => Promise<Result>,
  ): Promise<Result>;
  /** Sends the spans that are still in memory, within the time limit of the exporter. */
  close(): Promise<void>;
}

export interface Trace {
  /** Sets fields of the span of the whole charge. */
  set(fields: TraceFields): void;
  step<Result>(name: ChargeStep, work: () => Promise<Result>): Promise<Result>;
}

type ChargeStep = 'reserve' | 'ask' | 'look_up' | 'cancel' | 'settle';

/** All fields of a span, beside its name, its times and whether it failed. */
export interface TraceFields {
  readonly payment_id?: string;
  /** The name of a configured processor. */
  readonly processor?: string;
  /** A state of a charge, or a code of the closed list. */
  readonly outcome?: string;
}

const noTrace: Trace = { set: () => undefined, step: (_name, work) => work() };

/** Records nothing. */
export const noTraces: Traces = {
  charge: (_start, work) => work(noTrace),
  close: async () => undefined,
};
