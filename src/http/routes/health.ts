import { Type } from 'typebox';
import { type FieldsBesideError, success } from '../../envelope.ts';
import { errorResponses, responseSchema } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';

const tags = ['Operations'];
const besideNotReady: FieldsBesideError = (_message, { details }) => ({ failed: details.failed ?? [] });

/**
 * Liveness and readiness of the process.
 *
 * @param checkReady throws ServiceError `unavailable` with the `failed` checks while the service is not ready, and from the
 *   start of a shutdown; returns what is shut meanwhile
 */
export function operationRoutes(checkReady: () => Promise<readonly string[]>): Routes {
  return (app) => {
    app.get(
      '/livez',
      {
        config: { access: 'public' },
        schema: {
          tags,
          operationId: 'checkAlive',
          summary: 'Check that the process is alive',
          response: {
            200: responseSchema(Type.Object({ status: Type.Literal('alive') }), 'The process is alive'),
            ...errorResponses(),
          },
        },
      },
      async (_request, reply) => sendEnvelope(reply, success({ status: 'alive' })),
    );

    app.get(
      '/readyz',
      {
        config: { access: 'public', besideError: besideNotReady },
        schema: {
          tags,
          operationId: 'checkReady',
          summary: 'Check that the service is ready',
          response: {
            200: responseSchema(
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
            ...errorResponses('NotReadyResponse', {
              failed: Type.Array(Type.String(), { description: 'The checks that failed' }),
            }),
          },
        },
      },
      async (_request, reply) => {
        const shut = await checkReady();
        return sendEnvelope(reply, success({ status: 'ready', ...(shut.length > 0 && { shut }) }));
      },
    );
  };
}
