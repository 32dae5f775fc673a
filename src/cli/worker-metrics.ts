import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatherMetrics } from '../app/service.ts';
import { ServiceError } from '../errors.ts';
import type { MetricsSnapshot, MetricValue, MetricValues } from '../metrics.ts';
import { workerTellMsMax } from './limits.ts';

/**
 * A scrape reaches one worker, which of them the kernel decides; it is answered for all of them. That worker asks the
 * process that started it, which asks each worker and hands over what they told; the worker adds it up.
 */
export type MetricsMessage =
  /** From the worker that was scraped. */
  | { readonly kind: 'metrics_wanted'; readonly scrape: number }
  /** To each worker. */
  | { readonly kind: 'metrics_asked' }
  | { readonly kind: 'metrics_told'; readonly told: MetricsSnapshot }
  /** To the worker that was scraped. */
  | { readonly kind: 'metrics_of_all'; readonly scrape: number; readonly told: readonly MetricsSnapshot[] };

/** The side of the process that starts the workers. */
export class WorkerMetrics {
  /** What each worker told last: it counts as said by one that does not answer in time. */
  readonly #told = new Map<ChildProcess, MetricsSnapshot>();
  readonly #asked = new Map<ChildProcess, (() => void)[]>();
  /** What workers that have died had counted: a counter that went back would be taken for one that began anew. */
  #departed: MetricsSnapshot = [];

  /** A worker that is ready, from now on until it ends. */
  add(worker: ChildProcess): void {
    this.#told.set(worker, []);
    worker.on('message', (message: MetricsMessage) => {
      if (message.kind === 'metrics_wanted') void this.#answer(worker, message.scrape);
      if (message.kind === 'metrics_told') this.#note(worker, message.told);
    });
    worker.once('exit', () => {
      this.#departed = addedUp(this.#departed, this.#told.get(worker) ?? []);
      this.#told.delete(worker);
      this.#note(worker, undefined);
    });
  }

  async #answer(scraped: ChildProcess, scrape: number): Promise<void> {
    const late = sleep(workerTellMsMax, undefined, { ref: false });
    await Promise.race([Promise.all(Array.from(this.#told.keys(), (worker) => this.#ask(worker))), late]);
    const told = [...this.#told.values(), this.#departed];
    send(scraped, { kind: 'metrics_of_all', scrape, told });
  }

  #ask(worker: ChildProcess): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#asked.get(worker);
      if (waiting !== undefined) waiting.push(resolve);
      else this.#asked.set(worker, [resolve]);
      send(worker, { kind: 'metrics_asked' });
    });
  }

  #note(worker: ChildProcess, told: MetricsSnapshot | undefined): void {
    if (told !== undefined && this.#told.has(worker)) this.#told.set(worker, told);
    for (const resolve of this.#asked.get(worker) ?? []) resolve();
    this.#asked.delete(worker);
  }
}

function send(worker: ChildProcess, message: MetricsMessage): void {
  // One that is ending takes no more messages, and its end is told in its own way.
  if (worker.connected) worker.send(message, () => undefined);
}

/** The counts of two, without what was only so at a moment. */
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

/** The side of a worker: tells what it has counted when it is asked, and asks for what all have. */
export const gatherFromWorkers: GatherMetrics = (own) => {
  const waiting = new Map<number, (told: readonly MetricsSnapshot[]) => void>();
  let scrapes = 0;
  process.on('message', (message: MetricsMessage) => {
    if (message.kind === 'metrics_asked') tellParent({ kind: 'metrics_told', told: own() });
    if (message.kind === 'metrics_of_all') waiting.get(message.scrape)?.(message.told);
  });
  return () => {
    const scrape = scrapes++;
    const all = new Promise<readonly MetricsSnapshot[]>((resolve) => waiting.set(scrape, resolve));
    tellParent({ kind: 'metrics_wanted', scrape });
    // Twice as long as the others have. A part would be worse than nothing: counters that go back.
    const late = sleep(2 * workerTellMsMax, undefined, { ref: false }).then(() => {
      throw new ServiceError('unavailable', { detail: 'the workers did not tell their metrics in time' });
    });
    return Promise.race([all, late]).finally(() => waiting.delete(scrape));
  };
};

function tellParent(message: MetricsMessage): void {
  if (process.connected) process.send?.(message);
}
