import { requesterOf, shopOf } from '../../access/permission.ts';
import { audited } from '../../audit/audit.ts';
import { success } from '../../envelope.ts';
import { cancelPayment } from '../../payments/charge/cancel.ts';
import type { PaymentContext } from '../../payments/context.ts';
import { findPaymentOn } from '../../payments/find-payment.ts';
import { publicPayment } from '../../payments/public-payment.ts';
import { refundPayment } from '../../payments/refund/create.ts';
import { emptyWhenAbsent, errorResponses, noBody, noQuery, responseSchema } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';
import { headers } from './payment-request.ts';
import { sendPaymentResponse } from './payment-response.ts';
import { paymentParams, paymentState, refundBody, refundHeaders, refundState } from './payment-schemas.ts';

const tags = ['Payments'];

/** Cancel and refund a payment. @param prefix in front of `/stage` */
export function paymentChangeRoutes(context: PaymentContext, prefix: string): Routes {
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
        const payment = await findPaymentOn(context, { processor, route, paymentId });
        const requester = requesterOf(request.caller, request.id);
        const audit = audited({ what: 'payment.canceled', on: paymentId, ...requester });
        const canceling = cancelPayment(context, payment, audit);
        return sendEnvelope(reply, success(publicPayment(await context.inFlight.add(canceling))));
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
        const requester = requesterOf(request.caller, request.id);
        const refunding = refundPayment(context, {
          processor,
          route,
          paymentId,
          amount: request.body.amount,
          idempotencyKey: request.headers['idempotency-key'],
          caller: shopOf(request.caller),
          requestId: request.id,
          audit: (refund) => audited({ what: 'payment.refunded', on: paymentId, refund, ...requester }),
        });
        const response = await context.inFlight.add(refunding);
        reply.header('refund-id', response.refundId);
        const location = `${prefix}/stage/payment/${processor}/${route}/${paymentId}`;
        return sendPaymentResponse(reply, { ...response, paymentId }, location);
      },
    );
  };
}
