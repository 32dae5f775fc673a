import type { Metrics, MetricsSnapshot } from '../metrics.ts';
import { diskMetrics } from './disk.ts';
import { ProcessMetrics } from './process.ts';
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
