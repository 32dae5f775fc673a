import type { MetricsSnapshot } from '../metrics.ts';

export interface MetricsText {
  readonly contentType: string;
  readonly text: string;
}

/**
 * What the processes of one service tell, as one text in Prometheus' format
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). The library is loaded when it is first asked for.
 */
export async function metricsText(told: readonly MetricsSnapshot[]): Promise<MetricsText> {
  const { AggregatorRegistry } = (await import('prom-client')).default;
  // It has no types for what it gives and takes here: its own JSON.
  const registry = AggregatorRegistry.aggregate(told as unknown as object[]);
  return { contentType: registry.contentType, text: await registry.metrics() };
}
