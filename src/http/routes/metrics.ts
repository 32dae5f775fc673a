import { Type } from 'typebox';
import { errorResponses } from '../response/schemas.ts';
import type { Routes } from '../server/routes.ts';

/** Metrics in the Prometheus text format. */
export interface MetricsResponse {
  readonly contentType: string;
  readonly text: string;
}

/**
 * The metrics of the service. A successful response is not in the envelope, because Prometheus reads only its own format.
 * Errors are in the envelope.
 */
export function metricsRoutes(collect: () => Promise<MetricsResponse>): Routes {
  return (app) => {
    app.get(
      '/metrics',
      {
        config: { access: 'metrics:read' },
        schema: {
          tags: ['Operations'],
          operationId: 'readMetrics',
          summary: 'Read the metrics in the Prometheus format',
          response: {
            200: {
              description: 'Text in the exposition format of Prometheus, 0.0.4',
              content: { 'text/plain': { schema: Type.String() } },
            },
            ...errorResponses(),
          },
        },
      },
      async (_request, reply) => {
        const { contentType, text } = await collect();
        return reply
          .header('content-type', contentType)
          .header('cache-control', 'no-store')
          .serializer((payload: unknown) => payload as string)
          .send(text);
      },
    );
  };
}
