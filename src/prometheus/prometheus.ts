import { statfsSync } from 'node:fs';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Metrics, MetricsSnapshot } from '../telemetry.ts';
import { type Family, GaugeFamily } from './families.ts';
import { Recorder } from './recorder.ts';

/** Records metrics, and returns snapshots of them. */
export interface Prometheus {
  readonly metrics: Metrics;
  readonly snapshot: () => MetricsSnapshot;
  close(): void;
}

interface PrometheusOptions {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Folder of an embedded store, for the metrics of its disk. */
  readonly dataFolder: string | undefined;
}

export function openPrometheus({ now, dataFolder }: PrometheusOptions): Prometheus {
  const recorder = new Recorder(now);
  const ownProcess = new ProcessMetrics();
  const families = [
    ...recorder.families,
    ...ownProcess.families,
    ...(dataFolder === undefined ? [] : diskMetrics(dataFolder)),
  ];
  return {
    metrics: recorder,
    snapshot: () => families.map((family) => family.snapshot()),
    close: () => ownProcess.close(),
  };
}

export interface MetricsText {
  readonly contentType: string;
  readonly text: string;
}

/**
 * Merges the snapshots of a service's processes into one text in the Prometheus format
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). The first call loads the library.
 */
export async function metricsText(snapshots: readonly MetricsSnapshot[]): Promise<MetricsText> {
  const { AggregatorRegistry } = (await import('prom-client')).default;
  // The library has no types for its own JSON.
  const registry = AggregatorRegistry.aggregate(snapshots as unknown as object[]);
  return { contentType: registry.contentType, text: await registry.metrics() };
}

const microseconds = 1e6;
const nanoseconds = 1e9;
/** The interval between two measurements of the event loop delay. */
const resolutionMs = 10;

/** Metrics of the process, under the usual names of Prometheus client libraries. They are read only at a scrape. */
class ProcessMetrics {
  readonly #delay = monitorEventLoopDelay({ resolution: resolutionMs });
  readonly families: readonly Family[];

  constructor() {
    this.#delay.enable();
    this.families = [
      ...this.#eventLoop(),
      cpuSeconds('process_cpu_user_seconds_total', 'user'),
      cpuSeconds('process_cpu_system_seconds_total', 'system'),
      new GaugeFamily(
        { name: 'process_start_time_seconds', help: 'When the process was started', aggregator: 'min' },
        () => performance.timeOrigin / 1_000,
      ),
      memoryBytes('process_resident_memory_bytes', () => process.memoryUsage.rss()),
      memoryBytes('nodejs_heap_size_total_bytes', () => process.memoryUsage().heapTotal),
      memoryBytes('nodejs_heap_size_used_bytes', () => process.memoryUsage().heapUsed),
      memoryBytes('nodejs_external_memory_bytes', () => process.memoryUsage().external),
      new GaugeFamily(
        { name: 'counterfoil_processes', help: 'Processes that serve', aggregator: 'sum' },
        () => 1,
      ),
    ];
  }

  close(): void {
    this.#delay.disable();
  }

  /** Delays since the last scrape. The maximum over all processes is exposed, because a mean would hide the worst one. */
  #eventLoop(): readonly Family[] {
    const help = 'Delay of the event loop since the last scrape';
    const delay = (name: string, value: () => number) =>
      new GaugeFamily({ name: `counterfoil_event_loop_delay_${name}_seconds`, help, aggregator: 'max' }, () =>
        lateness(value()),
      );
    return [
      delay('p50', () => this.#delay.percentile(50)),
      delay('p99', () => this.#delay.percentile(99)),
      // The last of the three resets the measurement.
      delay('max', () => {
        const { max } = this.#delay;
        this.#delay.reset();
        return max;
      }),
    ];
  }
}

/** The measured value is the time between two measurements. An empty histogram returns a number beyond all delays. */
function lateness(measured: number): number {
  const delay = measured / nanoseconds - resolutionMs / 1_000;
  return Number.isFinite(delay) && delay > 0 && delay < 1e6 ? delay : 0;
}

function cpuSeconds(name: string, mode: 'user' | 'system'): Family {
  return new GaugeFamily(
    { name, help: 'CPU time used, in seconds', aggregator: 'sum', type: 'counter' },
    () => process.cpuUsage()[mode] / microseconds,
  );
}

function memoryBytes(name: string, value: () => number): Family {
  return new GaugeFamily({ name, help: 'Memory in bytes', aggregator: 'sum' }, value);
}

/** Metrics of the embedded store's disk. A disk that cannot be read is left out. */
function diskMetrics(folder: string): readonly Family[] {
  const gauge = (name: string, help: string, blocks: 'bavail' | 'blocks') =>
    new GaugeFamily({ name, help, aggregator: 'min' }, () => {
      try {
        const facts = statfsSync(folder);
        return facts[blocks] * facts.bsize;
      } catch {
        return undefined;
      }
    });
  return [
    gauge('counterfoil_disk_free_bytes', 'Free bytes on the disk of the store, for this user', 'bavail'),
    gauge('counterfoil_disk_size_bytes', 'Size of the disk of the store', 'blocks'),
  ];
}
