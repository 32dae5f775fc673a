import type {
  BackupStatus,
  CommitOutcome,
  EventOutcome,
  Metrics,
  OpenPayments,
  RequestCount,
} from '../telemetry.ts';
import {
  type Count,
  CounterFamily,
  type Distribution,
  type Family,
  GaugeFamily,
  HistogramFamily,
} from './families.ts';

/**
 * Seconds: from a read out of memory (well under a millisecond) over a charge (about a second) to ten seconds, when a
 * caller has given up.
 */
const requestBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Seconds. A flush takes half a millisecond on a good disk; after 15 s it ends the process. */
const storeBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 15];
/** Commits per flush. */
const sharedBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
/** All other methods share one label, so that callers cannot create labels. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'];

const none: OpenPayments = { charges: 0, chargesInDoubt: 0, refunds: 0, oldestInDoubtAt: undefined };

/** Counts the activity of this process, under the metric names of `/metrics`. */
export class Recorder implements Metrics {
  readonly #requests = new CounterFamily({
    name: 'counterfoil_http_requests_total',
    help: 'HTTP responses, by the pattern of their route',
    labels: ['route', 'method', 'status'],
  });
  readonly #durations = new HistogramFamily({
    name: 'counterfoil_http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its response, by route',
    labels: ['route'],
    bounds: requestBounds,
  });
  readonly #failures = new CounterFamily({
    name: 'counterfoil_http_errors_total',
    help: 'Rejected or failed requests, by error code (for instance rate_limited); charges are counted separately',
    labels: ['code'],
  });
  readonly #commits = new CounterFamily({
    name: 'counterfoil_store_commits_total',
    help: 'Commits by outcome; rejected means that a condition did not hold',
    labels: ['outcome'],
  });
  readonly #commitDurations = new HistogramFamily({
    name: 'counterfoil_store_commit_duration_seconds',
    help: 'Time from the request for a commit until it is durable or rejected',
    bounds: storeBounds,
  });
  readonly #flushes = new HistogramFamily({
    name: 'counterfoil_store_flush_duration_seconds',
    help: 'One transaction of the embedded store and its flush',
    bounds: storeBounds,
  });
  readonly #shared = new HistogramFamily({
    name: 'counterfoil_store_flush_commits',
    help: 'Commits that shared one flush of the embedded store',
    bounds: sharedBounds,
  });
  readonly #readsCutOff = new CounterFamily({
    name: 'counterfoil_store_reads_cut_off_total',
    help: 'Slow reads of whole tables that were broken off because the file of the embedded store grew too much meanwhile',
  });
  readonly #damages = new CounterFamily({
    name: 'counterfoil_store_damages_total',
    help: 'Values of the embedded store that were found with a wrong checksum, each table once for each process',
  });
  readonly #charges = new CounterFamily({
    name: 'counterfoil_charges_total',
    help: 'Charges that have reached a state, by processor and payment route',
    labels: ['processor', 'payment_route', 'state'],
  });
  readonly #overridden = new CounterFamily({
    name: 'counterfoil_charges_overridden_total',
    help: 'Charges that counted as declined, but were made according to proof from the processor',
    labels: ['processor'],
  });
  readonly #refunds = new CounterFamily({
    name: 'counterfoil_refunds_total',
    help: 'Refunds that have reached a state, by processor',
    labels: ['processor', 'state'],
  });
  readonly #events = new CounterFamily({
    name: 'counterfoil_webhooks_total',
    help: 'Events from payment processors, by outcome',
    labels: ['processor', 'outcome'],
  });
  readonly #signIns = new CounterFamily({
    name: 'counterfoil_sign_ins_total',
    help: 'Sign-ins begun and finished, and rejected ones by reason',
    labels: ['provider', 'outcome'],
  });
  readonly #backupFailures = new CounterFamily({
    name: 'counterfoil_backup_failures_total',
    help: 'Backups (snapshot) and rounds of continuous backup (continuous) that failed',
    labels: ['kind'],
  });
  #backup: BackupStatus | undefined;
  #inFlight = 0;
  #open = none;
  readonly families: readonly Family[];

  /** @param now milliseconds since 1970 */
  constructor(now: () => number) {
    this.families = [
      this.#requests,
      this.#durations,
      this.#failures,
      this.#commits,
      this.#commitDurations,
      new GaugeFamily(
        {
          name: 'counterfoil_store_commits_in_flight',
          help: 'Commits in progress: queued, or being written',
          aggregator: 'sum',
        },
        () => this.#inFlight,
      ),
      this.#flushes,
      this.#shared,
      this.#readsCutOff,
      this.#damages,
      this.#charges,
      this.#overridden,
      this.#refunds,
      ...openPaymentGauges(() => this.#open, now),
      this.#events,
      this.#signIns,
      this.#backupFailures,
      ...backupGauges(() => this.#backup, now),
    ];
  }

  ofRoute(method: string, route: string): RequestCount {
    let durations: Distribution | undefined;
    const byStatus: (Count | undefined)[] = [];
    return {
      responded: (status, ms) => {
        byStatus[status] ??= this.#requests.of(route, method, String(status));
        (byStatus[status] as Count).value++;
        // An unused route creates no lines.
        durations ??= this.#durations.of(route);
        durations.observe(ms / 1_000);
      },
    };
  }

  unrouted(method: string, status: number): void {
    this.#requests.of('none', methods.includes(method) ? method : 'other', String(status)).value++;
  }

  failed(code: string): void {
    this.#failures.of(code).value++;
  }

  commit(outcome: CommitOutcome, ms: number): void {
    this.#commits.of(outcome).value++;
    this.#commitDurations.of().observe(ms / 1_000);
  }

  commitsInFlight(change: 1 | -1): void {
    this.#inFlight += change;
  }

  flush(ms: number, commits: number): void {
    this.#flushes.of().observe(ms / 1_000);
    this.#shared.of().observe(commits);
  }

  readCutOff(): void {
    this.#readsCutOff.of().value++;
  }

  storeDamaged(): void {
    this.#damages.of().value++;
  }

  charge(processor: string, route: string, state: string): void {
    this.#charges.of(processor, route, state).value++;
  }

  chargeOverridden(processor: string): void {
    this.#overridden.of(processor).value++;
  }

  refund(processor: string, state: string): void {
    this.#refunds.of(processor, state).value++;
  }

  openPayments(open: OpenPayments): void {
    this.#open = open;
  }

  event(processor: string, outcome: EventOutcome): void {
    this.#events.of(processor, outcome).value++;
  }

  backup(status: BackupStatus | undefined): void {
    this.#backup = status && { ...this.#backup, ...status };
  }

  backupFailed(what: 'snapshot' | 'continuous'): void {
    this.#backupFailures.of(what).value++;
  }

  signIn(provider: string, outcome: string): void {
    this.#signIns.of(provider, outcome).value++;
  }
}

/** All processes read the same store, so the maximum is exposed, and not the sum. */
function openPaymentGauges(open: () => OpenPayments, now: () => number): readonly Family[] {
  const gauge = (name: string, help: string, value: () => number) =>
    new GaugeFamily({ name, help, aggregator: 'max' }, value);
  return [
    gauge('counterfoil_charges_open', 'Charges that have not ended', () => open().charges),
    gauge('counterfoil_charges_in_doubt', 'Charges with an unknown outcome', () => open().chargesInDoubt),
    gauge('counterfoil_refunds_open', 'Refunds that have not ended', () => open().refunds),
    gauge(
      'counterfoil_charge_in_doubt_oldest_seconds',
      'Age of the oldest charge in doubt; 0 when there is none',
      () => {
        const { oldestInDoubtAt } = open();
        return oldestInDoubtAt === undefined ? 0 : Math.max(0, (now() - oldestInDoubtAt) / 1_000);
      },
    ),
  ];
}

/** One process makes the backups; the others expose nothing. */
function backupGauges(status: () => BackupStatus | undefined, now: () => number): readonly Family[] {
  const age = (at: number | undefined) => (at === undefined ? undefined : Math.max(0, (now() - at) / 1_000));
  const gauge = (name: string, help: string, at: () => number | undefined) =>
    new GaugeFamily({ name, help, aggregator: 'max' }, () => age(at()));
  return [
    gauge('counterfoil_backup_age_seconds', 'Age of the newest good backup', () => status()?.madeAt),
    gauge(
      'counterfoil_backup_lag_seconds',
      'Age of the moment up to which everything is in segments of continuous backup',
      () => status()?.archivedUpTo,
    ),
  ];
}
