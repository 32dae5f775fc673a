import type { MetricsSnapshot } from '../metrics.ts';

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
