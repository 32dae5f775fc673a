import { Type } from 'typebox';
import type { FieldsBesideError } from '../../envelope.ts';
import { responseSchema } from '../response/schemas.ts';
import { operation, routesOf } from '../server/operation.ts';
import type { Routes } from '../server/routes.ts';

const tag = 'Operations';
const failedChecks: FieldsBesideError = (_message, { details }) => ({ failed: details.failed ?? [] });

/** Metrics in the Prometheus text format. */
export interface MetricsResponse {
  readonly contentType: string;
  readonly text: string;
}

/**
 * Liveness and readiness of the process.
 *
 * @param checkReady throws ServiceError `unavailable` with the `failed` checks while the service is not ready, and from the
 *   start of a shutdown; returns what is shut meanwhile
 */
export function healthRoutes(checkReady: () => Promise<readonly string[]>): Routes {
  return routesOf([
    operation({
      method: 'GET',
      path: '/livez',
      id: 'checkAlive',
      tag,
      summary: 'Check that the process is alive',
      access: 'public',
      request: { query: 'any' },
      response: responseSchema(Type.Object({ status: Type.Literal('alive') }), 'The process is alive'),
      handle: () => ({ status: 'alive' }),
    }),

    operation({
      method: 'GET',
      path: '/readyz',
      id: 'checkReady',
      tag,
      summary: 'Check that the service is ready',
      access: 'public',
      request: { query: 'any' },
      response: responseSchema(
        Type.Object({
          status: Type.Literal('ready'),
          shut: Type.Optional(
            Type.Array(Type.String(), {
              description: 'What is 503 although the service is ready: `payments`, after a restore',
            }),
          ),
        }),
        'The service is ready',
      ),
      legacyErrorFields: {
        name: 'NotReadyResponse',
        schemas: { failed: Type.Array(Type.String(), { description: 'The checks that failed' }) },
        valuesFor: failedChecks,
      },
      handle: async () => {
        const shut = await checkReady();
        return { status: 'ready', ...(shut.length > 0 && { shut }) };
      },
    }),
  ]);
}

/**
 * The metrics of the service. A successful response is not in the envelope, because Prometheus reads only its own format.
 * Errors are in the envelope.
 */
export function metricsRoutes(collect: () => Promise<MetricsResponse>): Routes {
  return routesOf([
    operation({
      method: 'GET',
      path: '/metrics',
      id: 'readMetrics',
      tag,
      summary: 'Read the metrics in the Prometheus format',
      access: 'metrics:read',
      request: { query: 'any' },
      response: {
        description: 'Text in the exposition format of Prometheus, 0.0.4',
        content: { 'text/plain': { schema: Type.String() } },
      },
      handle: async (_request, reply) => {
        const { contentType, text } = await collect();
        return reply
          .header('content-type', contentType)
          .header('cache-control', 'no-store')
          .serializer((payload: unknown) => payload as string)
          .send(text);
      },
    }),
  ]);
}
