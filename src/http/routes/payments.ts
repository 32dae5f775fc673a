import type { FastifyReply } from 'fastify';
import { audited } from '../../access/audit.ts';
import { actorOf, shopOf } from '../../access/permission.ts';
import { success } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import { cancelPayment } from '../../payments/charge/cancel.ts';
import { createCharge } from '../../payments/charge/create.ts';
import { isOfBadCard, paymentFieldsBesideError } from '../../payments/charge/response.ts';
import type { PaymentContext } from '../../payments/context.ts';
import { findPaymentOn } from '../../payments/find-payment.ts';
import { findByIdempotencyKey, listPayments } from '../../payments/list-payments.ts';
import { publicPayment } from '../../payments/public-payment.ts';
import { refundPayment } from '../../payments/refund/create.ts';
import type { StoredResponse } from '../../payments/stored-response.ts';
import {
  emptyWhenAbsent,
  envelopeSchema,
  errorResponses,
  noBody,
  noQuery,
  responseSchema,
} from '../response/schemas.ts';
import { sendEnvelope, sendText } from '../response/send.ts';
import type { Authorizer } from '../server/authorize.ts';
import type { Routes } from '../server/routes.ts';
import { listQuery, pageOf } from './payment-list.ts';
import {
  body,
  foundPayments,
  headers,
  paid,
  params,
  paymentBeside,
  paymentHeaders,
  paymentParams,
  paymentState,
  refundBody,
  refundHeaders,
  refundState,
} from './payment-schemas.ts';

const tags = ['Payments'];

/**
 * Receive a payment (interface.md, 4.1), retrieve, list, cancel and refund it.
 *
 * @param prefix in front of `/stage`
 * @param counts counts charges and declines
 */
export function paymentRoutes(
  context: PaymentContext,
  prefix: string,
  counts: Pick<Authorizer, 'takeChargeOfKey' | 'noteDecline'>,
): Routes {
  const path = `${prefix}/stage/payment/:processor/:route_id`;
  return (app) => {
    app.post(
      path,
      {
        config: { access: 'payments:create', besideError: paymentFieldsBesideError },
        schema: {
          tags,
          operationId: 'createPayment',
          summary: 'Receive a payment',
          params,
          querystring: noQuery,
          headers,
          body,
          response: {
            200: responseSchema(
              paid,
              'The processor confirmed the charge, and that is on disk',
              paymentHeaders,
            ),
            ...errorResponses('PaymentErrorResponse', paymentBeside, paymentHeaders),
          },
        },
      },
      async (request, reply) => {
        counts.takeChargeOfKey(request, reply);
        const { processor, route_id: route } = request.params;
        const { statement_descriptor_suffix, receipt_email, ...fields } = request.body;
        const charging = createCharge(context, {
          processor,
          route,
          ...fields,
          statementDescriptorSuffix: statement_descriptor_suffix,
          receiptEmail: receipt_email,
          idempotencyKey: request.headers['idempotency-key'],
          needsPrice: request.caller.key?.kind === 'publishable',
          caller: shopOf(request.caller),
          requestId: request.id,
          traceparent: request.raw.headers.traceparent?.toString(),
        });
        const response = await context.inFlight.add(charging);
        if (isOfBadCard(response) && !response.replayed) await counts.noteDecline(request);
        return sendResponse(
          reply,
          response,
          `${prefix}/stage/payment/${processor}/${route}/${response.paymentId}`,
        );
      },
    );

    app.get(
      path,
      {
        config: { access: 'payments:read' },
        schema: {
          tags,
          operationId: 'listPayments',
          summary: 'List payments, or find one by its idempotency key',
          params,
          querystring: listQuery,
          response: {
            200: envelopeSchema(
              foundPayments,
              'A page of payments, ordered by creation; or the payment with `idempotency_key`',
            ),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const { processor, route_id: route } = request.params;
        const { idempotency_key: key, ...page } = request.query;
        if (key === undefined) {
          const { payments, next } = await listPayments(context, { processor, route, ...pageOf(page) });
          const envelope = {
            ...success(payments.map(publicPayment)),
            ...(next === undefined ? {} : { next }),
          };
          return sendEnvelope(reply, envelope);
        }
        if (Object.keys(page).length > 0) {
          const message = 'idempotency_key finds one payment; it cannot be combined with other parameters.';
          throw new ServiceError('invalid_request', { param: 'idempotency_key', message });
        }
        const payment = await findByIdempotencyKey(context, {
          processor,
          route,
          caller: shopOf(request.caller),
          key,
        });
        return sendEnvelope(reply, success(publicPayment(payment)));
      },
    );

    app.get(
      `${path}/:payment_id`,
      {
        config: { access: 'payments:read' },
        schema: {
          tags,
          operationId: 'getPayment',
          summary: 'Retrieve a payment',
          params: paymentParams,
          querystring: noQuery,
          response: {
            200: responseSchema(paymentState, 'The payment'),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const { processor, route_id: route, payment_id: paymentId } = request.params;
        const payment = await findPaymentOn(context, { processor, route, paymentId });
        return sendEnvelope(reply, success(publicPayment(payment)));
      },
    );

    app.post(
      `${path}/:payment_id/cancel`,
      {
        config: { access: 'payments:refund' },
        preValidation: emptyWhenAbsent,
        schema: {
          tags,
          operationId: 'cancelPayment',
          summary: 'Cancel a charge with an unknown outcome',
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
        const by = actorOf(request.caller);
        const audit = audited({ what: 'payment.canceled', on: paymentId, by, requestId: request.id });
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
        const refunding = refundPayment(context, {
          processor,
          route,
          paymentId,
          amount: request.body.amount,
          idempotencyKey: request.headers['idempotency-key'],
          caller: shopOf(request.caller),
          requestId: request.id,
        });
        const response = await context.inFlight.add(refunding);
        reply.header('refund-id', response.refundId);
        const location = `${prefix}/stage/payment/${processor}/${route}/${paymentId}`;
        return sendResponse(reply, { ...response, paymentId }, location);
      },
    );
  };
}

interface PaymentResponse extends StoredResponse {
  readonly paymentId: string;
  readonly replayed: boolean;
  readonly retryAfterSeconds?: number;
}

/** @param location the URL of the payment */
function sendResponse(reply: FastifyReply, response: PaymentResponse, location: string): FastifyReply {
  reply.header('payment-id', response.paymentId).header('location', location);
  if (response.replayed) reply.header('idempotent-replayed', 'true');
  if (response.retryAfterSeconds !== undefined)
    reply.header('retry-after', String(response.retryAfterSeconds));
  return sendText(reply, response.status, response.text);
}
