import type { Metrics, MetricsSnapshot } from '../metrics.ts';
import { diskMetrics } from './disk.ts';
import { ProcessMetrics } from './process.ts';
import { Recorder } from './recorder.ts';

/** Counts, and tells. */
export interface Prometheus {
  readonly metrics: Metrics;
  readonly tell: () => MetricsSnapshot;
  close(): void;
}

interface PrometheusOptions {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Of an embedded store: the disk under it is looked at. */
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
    tell: () => families.map((family) => family.tell()),
    close: () => ownProcess.close(),
  };
}
