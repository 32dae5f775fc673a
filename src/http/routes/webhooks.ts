import { Type } from 'typebox';
import { success } from '../../envelope.ts';
import type { Payments } from '../../payments/payments.ts';
import { processorNames } from '../../processors/processor.ts';
import { documentedAs } from '../response/described.ts';
import { errorResponses, responseSchema } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';

/**
 * Receives the events (webhooks) of payment processors. The body is not parsed here, because the signature covers its exact
 * bytes. @param prefix in front of `/stage`
 */
export function eventRoutes(payments: Payments, prefix: string): Routes {
  return async (app) => {
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      // The signature of a large event takes long to check.
      scope.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) =>
        scope.queue.addForBody(request.countedAddress, body.length, () => done(null, body)),
      );
      scope.post(
        `${prefix}/stage/events/:processor`,
        {
          config: { access: 'signed' },
          schema: {
            tags: ['Payments'],
            operationId: 'receiveProcessorEvent',
            summary: 'Receive an event from a payment processor',
            params: Type.Object({
              processor: documentedAs(Type.String({ description: 'The payment processor' }), {
                type: 'string',
                enum: processorNames.filter((name) => name !== 'simulated'),
              }),
            }),
            response: {
              200: responseSchema(
                Type.Object({ message: Type.Literal('Event taken') }),
                'The content of the event is on disk, or was there already',
              ),
              ...errorResponses(),
            },
          },
        },
        async (request, reply) => {
          const { processor } = request.params as { processor: string };
          const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
          await payments.takeEvent(processor, { headers: request.headers, body });
          return sendEnvelope(reply, success({ message: 'Event taken' }));
        },
      );
    });
  };
}
