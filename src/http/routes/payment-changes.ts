import { idempotencyScope, requesterFor } from '../../access/permission.ts';
import { audited } from '../../audit/audit.ts';
import { success } from '../../envelope.ts';
import { type Payments, publicPayment } from '../../payments/payments.ts';
import { emptyWhenAbsent, errorResponses, noBody, noQuery, responseSchema } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';
import { headers } from './payment-request.ts';
import { sendPaymentResponse } from './payment-response.ts';
import { paymentParams, paymentState, refundBody, refundHeaders, refundState } from './payment-schemas.ts';

const tags = ['Payments'];

/** Cancel and refund a payment. @param prefix in front of `/stage` */
export function paymentChangeRoutes(payments: Payments, prefix: string): Routes {
  const path = `${prefix}/stage/payment/:processor/:route_id`;
  return (app) => {
    app.post(
      `${path}/:payment_id/cancel`,
      {
        config: { access: 'payments:refund' },
        preValidation: emptyWhenAbsent,
        schema: {
          tags,
          operationId: 'cancelPayment',
          summary: 'Cancel a charge with an unknown outcome, or one that waits for its cardholder',
          description:
            'The service first looks the charge up at the processor. A successful charge is returned as succeeded. ' +
            'A charge that is still in doubt is not sent again, and the service finds out its outcome.',
          params: paymentParams,
          querystring: noQuery,
          body: noBody,
          response: {
            200: responseSchema(paymentState, 'The payment after the cancellation'),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const { processor, route_id: route, payment_id: paymentId } = request.params;
        const requester = requesterFor(request.caller, request.id);
        const audit = audited({ what: 'payment.canceled', on: paymentId, ...requester });
        const payment = await payments.cancel({ processor, route, paymentId }, audit);
        return sendEnvelope(reply, success(publicPayment(payment)));
      },
    );

    app.post(
      `${path}/:payment_id/refund`,
      {
        config: { access: 'payments:refund' },
        // Without a body the whole remaining amount is refunded.
        preValidation: emptyWhenAbsent,
        schema: {
          tags,
          operationId: 'refundPayment',
          summary: 'Refund a payment, or a part of it',
          params: paymentParams,
          querystring: noQuery,
          headers,
          body: refundBody,
          response: {
            200: responseSchema(
              refundState,
              'The processor accepted the refund, and that is on disk',
              refundHeaders,
            ),
            ...errorResponses(undefined, {}, refundHeaders),
          },
        },
      },
      async (request, reply) => {
        const { processor, route_id: route, payment_id: paymentId } = request.params;
        const requester = requesterFor(request.caller, request.id);
        const response = await payments.refund({
          processor,
          route,
          paymentId,
          amount: request.body.amount,
          idempotencyKey: request.headers['idempotency-key'],
          caller: idempotencyScope(request.caller),
          requestId: request.id,
          audit: (refund) => audited({ what: 'payment.refunded', on: paymentId, refund, ...requester }),
        });
        reply.header('refund-id', response.refundId);
        const location = `${prefix}/stage/payment/${processor}/${route}/${paymentId}`;
        return sendPaymentResponse(reply, { ...response, paymentId }, location);
      },
    );
  };
}
