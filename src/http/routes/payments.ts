import type { FastifyReply } from 'fastify';
import { type Static, Type } from 'typebox';
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
import { timestampOf } from '../../timestamps.ts';
import {
  closed,
  emptyWhenAbsent,
  errorResponseSchema,
  noBody,
  noQuery,
  responseSchema,
} from '../response/schemas.ts';
import { sendEnvelope, sendText } from '../response/send.ts';
import type { Authorizer } from '../server/authorize.ts';
import type { Routes } from '../server/routes.ts';
import {
  body,
  headers,
  listQuery,
  paid,
  params,
  paymentParams,
  paymentState,
  refundBody,
  refundState,
} from './payment-schemas.ts';

const tags = ['Payments'];
const pageItemsDefault = 20;

/**
 * Receive a payment (interface.md, 4.1); tell what became of it; give it back.
 *
 * @param prefix in front of `/stage`
 * @param counts what is counted of charges
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
          summary: 'Receive a payment',
          params,
          querystring: noQuery,
          headers,
          body,
          response: {
            200: responseSchema(paid, 'The processor confirmed the charge, and that is on disk'),
            '4xx': errorResponseSchema({ message: Type.Object({ message: Type.String() }) }),
            '5xx': errorResponseSchema({ message: Type.Object({ message: Type.String() }) }),
          },
        },
      },
      async (request, reply) => {
        counts.takeChargeOfKey(request, reply);
        const { processor, route_id: route } = request.params;
        const taking = createCharge(context, {
          processor,
          route,
          ...request.body,
          idempotencyKey: request.headers['idempotency-key'],
          caller: shopOf(request.caller),
          requestId: request.id,
          traceparent: request.raw.headers.traceparent?.toString(),
        });
        const answer = await context.inFlight.add(taking);
        if (isOfBadCard(answer) && !answer.replayed) await counts.noteDecline(request);
        return sendAnswer(reply, answer, `${prefix}/stage/payment/${processor}/${route}/${answer.paymentId}`);
      },
    );

    app.get(
      path,
      {
        config: { access: 'payments:read' },
        schema: {
          tags,
          summary: 'List payments, or find one by its idempotency key',
          params,
          querystring: listQuery,
          response: {
            200: Type.Object(
              {
                statusCode: Type.Literal(200),
                body: Type.Union([Type.Array(paymentState), paymentState]),
                next: Type.Optional(Type.String()),
              },
              { ...closed, description: 'In the order in which they were made; `next` when there are more' },
            ),
            '4xx': errorResponseSchema(),
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
          const message = 'idempotency_key finds one payment: nothing else may stand beside it.';
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
          summary: 'Tell what became of a payment',
          params: paymentParams,
          querystring: noQuery,
          response: {
            200: responseSchema(paymentState, 'The payment as it stands'),
            '4xx': errorResponseSchema(),
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
          summary: 'Cancel a charge whose outcome is not known yet',
          description:
            'The processor is asked first: a charge that has been made is returned as succeeded. One that is still in doubt is asked for no more, and its end is found out.',
          params: paymentParams,
          querystring: noQuery,
          body: noBody,
          response: {
            200: responseSchema(paymentState, 'The payment as it is then'),
            '4xx': errorResponseSchema(),
            '5xx': errorResponseSchema(),
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
        // All that is left needs no words.
        preValidation: emptyWhenAbsent,
        schema: {
          tags,
          summary: 'Give back a payment, or a part of it',
          params: paymentParams,
          querystring: noQuery,
          headers,
          body: refundBody,
          response: {
            200: responseSchema(refundState, 'The processor has taken the refund, and that is on disk'),
            '4xx': errorResponseSchema(),
            '5xx': errorResponseSchema(),
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
        const answer = await context.inFlight.add(refunding);
        reply.header('refund-id', answer.refundId);
        const location = `${prefix}/stage/payment/${processor}/${route}/${paymentId}`;
        return sendAnswer(reply, { ...answer, paymentId }, location);
      },
    );
  };
}

interface Answer extends StoredResponse {
  readonly paymentId: string;
  readonly replayed: boolean;
  readonly retryAfterSeconds?: number;
}

/** @param location where what became of it is told */
function sendAnswer(reply: FastifyReply, answer: Answer, location: string): FastifyReply {
  reply.header('payment-id', answer.paymentId).header('location', location);
  if (answer.replayed) reply.header('idempotent-replayed', 'true');
  if (answer.retryAfterSeconds !== undefined) reply.header('retry-after', String(answer.retryAfterSeconds));
  return sendText(reply, answer.status, answer.text);
}

function pageOf({ limit, after, since }: Omit<Static<typeof listQuery>, 'idempotency_key'>) {
  return {
    // The domain names the bounds.
    limit: limit === undefined ? pageItemsDefault : /^\d{1,9}$/.test(limit) ? Number(limit) : Number.NaN,
    after,
    since: since === undefined ? undefined : momentOf(since),
  };
}

function momentOf(text: string): number {
  const time = timestampOf(text);
  if (time !== undefined) return time;
  const message = 'since must be a date (2026-11-21) or a timestamp (2026-11-21T10:00:00Z).';
  throw new ServiceError('invalid_request', { param: 'since', message });
}
