import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatherMetrics } from '../app/service.ts';
import { ServiceError } from '../errors.ts';
import type { MetricsSnapshot, MetricValue, MetricValues } from '../telemetry.ts';

/** How long a scrape waits for the other workers: Prometheus gives up after 10 s, and a snapshot takes a millisecond. */
const workerReportMsMax = 1_000;

/**
 * The kernel routes a scrape to one worker, but the response covers all of them. That worker asks the parent process, which
 * collects a snapshot from each worker and returns all snapshots; the worker adds them up.
 */
export type MetricsMessage =
  /** From the worker that was scraped. */
  | { readonly kind: 'metrics_wanted'; readonly scrape: number }
  /** To each worker. */
  | { readonly kind: 'metrics_requested' }
  | { readonly kind: 'metrics_reported'; readonly snapshot: MetricsSnapshot }
  /** To the worker that was scraped. */
  | {
      readonly kind: 'metrics_of_all';
      readonly scrape: number;
      readonly snapshots: readonly MetricsSnapshot[];
    };

/** The side of the parent process. */
export class WorkerMetrics {
  /** The last snapshot of each worker, used if the worker does not reply in time. */
  readonly #snapshots = new Map<ChildProcess, MetricsSnapshot>();
  readonly #waiting = new Map<ChildProcess, (() => void)[]>();
  /** The counts of dead workers: without them a counter would decrease, which looks like a restart. */
  #departed: MetricsSnapshot = [];

  /** Includes a ready worker until it ends. */
  add(worker: ChildProcess): void {
    this.#snapshots.set(worker, []);
    worker.on('message', (message: MetricsMessage) => {
      if (message.kind === 'metrics_wanted') void this.#reply(worker, message.scrape);
      if (message.kind === 'metrics_reported') this.#record(worker, message.snapshot);
    });
    worker.once('exit', () => {
      this.#departed = addedUp(this.#departed, this.#snapshots.get(worker) ?? []);
      this.#snapshots.delete(worker);
      this.#record(worker, undefined);
    });
  }

  async #reply(scraped: ChildProcess, scrape: number): Promise<void> {
    const late = sleep(workerReportMsMax, undefined, { ref: false });
    await Promise.race([
      Promise.all(Array.from(this.#snapshots.keys(), (worker) => this.#ask(worker))),
      late,
    ]);
    const snapshots = [...this.#snapshots.values(), this.#departed];
    send(scraped, { kind: 'metrics_of_all', scrape, snapshots });
  }

  #ask(worker: ChildProcess): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(worker);
      if (waiting !== undefined) waiting.push(resolve);
      else this.#waiting.set(worker, [resolve]);
      send(worker, { kind: 'metrics_requested' });
    });
  }

  #record(worker: ChildProcess, snapshot: MetricsSnapshot | undefined): void {
    if (snapshot !== undefined && this.#snapshots.has(worker)) this.#snapshots.set(worker, snapshot);
    for (const resolve of this.#waiting.get(worker) ?? []) resolve();
    this.#waiting.delete(worker);
  }
}

function send(worker: ChildProcess, message: MetricsMessage): void {
  // A worker that is ending accepts no messages; its 'exit' event follows.
  if (worker.connected) worker.send(message, () => undefined);
}

/** The sums of two snapshots, without gauges, which are only current values. */
function addedUp(one: MetricsSnapshot, other: MetricsSnapshot): MetricsSnapshot {
  const metrics = new Map<string, MetricValues>();
  for (const metric of [...one, ...other]) {
    if (metric.type === 'gauge') continue;
    const before = metrics.get(metric.name);
    const values = before === undefined ? metric.values : sums([...before.values, ...metric.values]);
    metrics.set(metric.name, { ...metric, values });
  }
  return [...metrics.values()];
}

function sums(values: readonly MetricValue[]): readonly MetricValue[] {
  const byPlace = new Map<string, MetricValue>();
  for (const each of values) {
    const place = JSON.stringify([each.metricName, each.labels]);
    byPlace.set(place, { ...each, value: each.value + (byPlace.get(place)?.value ?? 0) });
  }
  return [...byPlace.values()];
}

/** The side of a worker: sends its snapshot on request, and requests the snapshots of all workers. */
export const gatherFromWorkers: GatherMetrics = (own) => {
  const waiting = new Map<number, (snapshots: readonly MetricsSnapshot[]) => void>();
  let scrapes = 0;
  process.on('message', (message: MetricsMessage) => {
    if (message.kind === 'metrics_requested') sendToParent({ kind: 'metrics_reported', snapshot: own() });
    if (message.kind === 'metrics_of_all') waiting.get(message.scrape)?.(message.snapshots);
  });
  return () => {
    const scrape = scrapes++;
    const all = new Promise<readonly MetricsSnapshot[]>((resolve) => waiting.set(scrape, resolve));
    sendToParent({ kind: 'metrics_wanted', scrape });
    // Twice the time that the other workers have. No partial sum, because its counters would decrease.
    const late = sleep(2 * workerReportMsMax, undefined, { ref: false }).then(() => {
      throw new ServiceError('unavailable', { detail: 'the workers did not send their metrics in time' });
    });
    return Promise.race([all, late]).finally(() => waiting.delete(scrape));
  };
};

function sendToParent(message: MetricsMessage): void {
  if (process.connected) process.send?.(message);
}
