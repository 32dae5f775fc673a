import { Type } from 'typebox';
import { errorResponseSchema } from '../response/schemas.ts';
import type { Routes } from '../server/routes.ts';

/** In Prometheus' text format. */
export interface MetricsResponse {
  readonly contentType: string;
  readonly text: string;
}

/**
 * What the service counts, for Prometheus. The one answer that is in no envelope when it succeeds: its reader takes its
 * own format alone. Refusals are in the envelope like all others.
 */
export function metricsRoutes(tell: () => Promise<MetricsResponse>): Routes {
  return (app) => {
    app.get(
      '/metrics',
      {
        config: { access: 'metrics:read' },
        schema: {
          tags: ['Operations'],
          summary: 'What the service counts, as Prometheus reads it',
          response: {
            200: {
              description: 'Text in the exposition format of Prometheus, 0.0.4',
              content: { 'text/plain': { schema: Type.String() } },
            },
            '4xx': errorResponseSchema(),
            '5xx': errorResponseSchema(),
          },
        },
      },
      async (_request, reply) => {
        const { contentType, text } = await tell();
        return reply
          .header('content-type', contentType)
          .header('cache-control', 'no-store')
          .serializer((payload: unknown) => payload as string)
          .send(text);
      },
    );
  };
}
