import type { RouteOptions } from 'fastify';
import type { ServiceError } from '../../errors.ts';
import { type Metrics, noMetrics, type RequestCount } from '../../metrics.ts';

/**
 * Counts every request by the pattern of its route, and its error. A route has its counters from the start, so that a request
 * needs no look-up. A response is not counted if its reader disconnects before its end.
 */
export class RequestCounts {
  readonly #metrics: Metrics;

  constructor(metrics: Metrics = noMetrics) {
    this.#metrics = metrics;
  }

  /** @param route undefined for paths without one, which `failed` counts. @returns the counters of a request, by its method */
  of(route: RouteOptions | undefined): (method: string) => RequestCount | undefined {
    if (route === undefined || this.#metrics === noMetrics) return () => undefined;
    const { url, method } = route;
    const counts = new Map([method].flat().map((name) => [name, this.#metrics.ofRoute(name, url)]));
    const [only] = counts.values();
    return counts.size === 1 ? () => only : (name) => counts.get(name);
  }

  /** Counts an error response. @param route the pattern of its route, if it has one */
  failed({ code, status }: ServiceError, method: string, route: string | undefined): void {
    this.#metrics.failed(code);
    if (route === undefined) this.#metrics.unrouted(method, status);
  }
}
