import { Type } from 'typebox';
import { responseSchema } from '../response/schemas.ts';
import { sendAs } from '../response/send.ts';
import { type LegacyErrors, operation, type Routes, routeFamily } from '../server/operation.ts';

/** Metrics in the Prometheus text format. */
export interface MetricsResponse {
  readonly contentType: string;
  readonly text: string;
}

/**
 * Liveness, readiness and metrics of the process.
 *
 * @param checkReady throws ServiceError `unavailable` with the `failed` checks while the service is not ready, and from the
 *   start of a shutdown; returns what is shut meanwhile
 */
export function healthRoutes(
  checkReady: () => Promise<readonly string[]>,
  collectMetrics: () => Promise<MetricsResponse>,
): Routes {
  return routeFamily('Operations', [
    operation('GET', '/livez', 'public', {
      id: 'checkAlive',
      summary: 'Check that the process is alive',
      request: { query: 'any' },
      response: responseSchema(Type.Object({ status: Type.Literal('alive') }), 'The process is alive'),
      handle: () => ({ status: 'alive' }),
    }),

    operation('GET', '/readyz', 'public', {
      id: 'checkReady',
      summary: 'Check that the service is ready',
      request: { query: 'any' },
      response: responseSchema(readiness, 'The service is ready'),
      legacyErrors: failedChecks,
      handle: async () => {
        const shut = await checkReady();
        return { status: 'ready', ...(shut.length > 0 && { shut }) };
      },
    }),

    operation('GET', '/metrics', 'metrics:read', {
      id: 'readMetrics',
      summary: 'Read the metrics in the Prometheus format',
      request: { query: 'any' },
      response: metricsResponse,
      handle: async (_request, reply) => {
        const { contentType, text } = await collectMetrics();
        return sendAs(reply, contentType, text);
      },
    }),
  ]);
}

const readiness = Type.Object({
  status: Type.Literal('ready'),
  shut: Type.Optional(
    Type.Array(Type.String(), {
      description: 'What is 503 although the service is ready: `payments`, after a restore',
    }),
  ),
});
const failedChecks: LegacyErrors = {
  name: 'NotReadyResponse',
  schemas: { failed: Type.Array(Type.String(), { description: 'The checks that failed' }) },
  fields: (_message, { details }) => ({ failed: details.failed ?? [] }),
};
/** Not in the envelope: Prometheus reads its own format only. */
const metricsResponse = {
  description: 'Text in the exposition format of Prometheus, 0.0.4',
  content: { 'text/plain': { schema: Type.String() } },
};
