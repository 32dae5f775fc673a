import { type Metrics, noMetrics } from '../../metrics.ts';
import type { App } from './routes.ts';

/**
 * Counts every request by the pattern of its route. Each route has a hook that holds its counters, so that a request needs no
 * look-up. A request without a route is counted when it is rejected. A response is not counted if its reader disconnects
 * before its end.
 */
export function countRequests(app: App, metrics: Metrics = noMetrics): void {
  app.decorate('countFailure', (error, request) => {
    metrics.failed(error.code);
    if (request.routeOptions.url === undefined) metrics.unrouted(request.method, error.status);
  });
  if (metrics === noMetrics) return;
  app.addHook('onRoute', (route) => {
    const { url, method, onResponse = [] } = route;
    const counts = new Map([method].flat().map((name) => [name, metrics.ofRoute(name, url)]));
    const only = counts.size === 1 ? [...counts.values()][0] : undefined;
    route.onResponse = [
      ...[onResponse].flat(),
      (request, reply, done) => {
        (only ?? counts.get(request.method))?.responded(reply.statusCode, reply.elapsedTime);
        done();
      },
    ];
  });
}
