import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { type Family, GaugeFamily } from './families.ts';

const microseconds = 1e6;
const nanoseconds = 1e9;
/** The interval between two measurements of the event loop delay. */
const resolutionMs = 10;

/** Metrics of the process, under the usual names of Prometheus client libraries. They are read only at a scrape. */
export class ProcessMetrics {
  readonly #delay = monitorEventLoopDelay({ resolution: resolutionMs });
  readonly families: readonly Family[];

  constructor() {
    this.#delay.enable();
    this.families = [
      ...this.#eventLoop(),
      seconds('process_cpu_user_seconds_total', () => process.cpuUsage().user / microseconds),
      seconds('process_cpu_system_seconds_total', () => process.cpuUsage().system / microseconds),
      new GaugeFamily(
        { name: 'process_start_time_seconds', help: 'When the process was started', aggregator: 'min' },
        () => performance.timeOrigin / 1_000,
      ),
      bytes('process_resident_memory_bytes', () => process.memoryUsage.rss()),
      bytes('nodejs_heap_size_total_bytes', () => process.memoryUsage().heapTotal),
      bytes('nodejs_heap_size_used_bytes', () => process.memoryUsage().heapUsed),
      bytes('nodejs_external_memory_bytes', () => process.memoryUsage().external),
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
    const delay = (name: string, value: () => number) =>
      new GaugeFamily(
        {
          name: `counterfoil_event_loop_delay_${name}_seconds`,
          help: 'Delay of the event loop since the last scrape',
          aggregator: 'max',
        },
        () => lateness(value()),
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

function seconds(name: string, value: () => number): Family {
  return new GaugeFamily(
    { name, help: 'CPU time used, in seconds', aggregator: 'sum', type: 'counter' },
    value,
  );
}

function bytes(name: string, value: () => number): Family {
  return new GaugeFamily({ name, help: 'Memory in bytes', aggregator: 'sum' }, value);
}
