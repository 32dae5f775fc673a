import { Type } from 'typebox';
import { type FieldsBesideError, success } from '../../envelope.ts';
import { errorResponseSchema, responseSchema } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';

const tags = ['Operations'];
const besideNotReady: FieldsBesideError = (_message, { details }) => ({ failed: details.failed ?? [] });

/**
 * Whether the process is alive, and whether it can take work.
 *
 * @param checkReady throws ServiceError `unavailable` while it cannot, and from the moment of a stop, with what `failed`
 */
export function operationRoutes(checkReady: () => Promise<void>): Routes {
  return (app) => {
    app.get(
      '/livez',
      {
        config: { access: 'public' },
        schema: {
          tags,
          summary: 'Whether the process is alive',
          response: { 200: responseSchema(Type.Object({ status: Type.Literal('alive') }), 'It is') },
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
          summary: 'Whether the service can take work',
          response: {
            200: responseSchema(Type.Object({ status: Type.Literal('ready') }), 'It can'),
            '5xx': errorResponseSchema({
              failed: Type.Array(Type.String(), { description: 'The checks that failed' }),
            }),
          },
        },
      },
      async (_request, reply) => {
        await checkReady();
        return sendEnvelope(reply, success({ status: 'ready' }));
      },
    );
  };
}
