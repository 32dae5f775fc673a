import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { success } from '../envelope.ts';
import { ServiceError } from '../errors.ts';
import { amountMax, tokenCharactersMax } from '../limits.ts';
import { type PaymentAnswer, paymentFieldsBesideError } from '../payments/answer.ts';
import { findPayment, findProcessor, findRoute, type PaymentParts } from '../payments/parts.ts';
import type { Payment } from '../payments/payment.ts';
import { takePayment } from '../payments/take-payment.ts';
import { sendEnvelope, sendText } from './answer.ts';
import type { Routes } from './door.ts';
import { answerSchema, closed, errorAnswerSchema, noQuery } from './schemas.ts';

const tags = ['Payments'];
const params = Type.Object({
  processor: Type.String({ description: 'stripe, or simulated under `serve --simulate`' }),
  route_id: Type.String({ description: 'A payment route of the settings; charge by default' }),
});
const paymentParams = Type.Object({ ...params.properties, payment_id: Type.String() });
const body = Type.Object(
  {
    amount: Type.Number({
      description: `In the smallest unit of the currency, 1 to ${amountMax}: 1050 is EUR 10.50, and JPY 1050`,
    }),
    currency: Type.String({ description: 'ISO 4217, either case' }),
    token: Type.String({
      minLength: 1,
      description: `Card token of the processor, at most ${tokenCharactersMax} visible ASCII characters`,
    }),
  },
  closed,
);
const headers = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({ description: 'The same key with the same body is charged once and answered alike' }),
  ),
});
const paid = Type.Object({
  message: Type.Object({ message: Type.Literal('Payment successful!'), charge_id: Type.String() }),
});
const paymentState = Type.Object({
  id: Type.String(),
  status: Type.String({ description: 'calling, in_doubt, succeeded, declined or needs_review' }),
  processor: Type.String(),
  amount: Type.Integer({ description: 'In the smallest unit of the currency' }),
  currency: Type.String(),
  charge_id: Type.Union([Type.String(), Type.Null()]),
  decline_code: Type.Union([Type.String(), Type.Null()]),
  created_at: Type.String(),
});

/** Receive a payment (interface.md, 4.1) and tell what became of it. @param prefix in front of `/stage` */
export function paymentRoutes(parts: PaymentParts, prefix: string): Routes {
  const path = `${prefix}/stage/payment/:processor/:route_id`;
  return (app) => {
    app.post(
      path,
      {
        config: { besideError: paymentFieldsBesideError },
        schema: {
          tags,
          summary: 'Receive a payment',
          params,
          querystring: noQuery,
          headers,
          body,
          response: {
            200: answerSchema(paid, 'The processor confirmed the charge, and that is on disk'),
            '4xx': errorAnswerSchema({ message: Type.Object({ message: Type.String() }) }),
            '5xx': errorAnswerSchema({ message: Type.Object({ message: Type.String() }) }),
          },
        },
      },
      async (request, reply) => {
        const { processor, route_id: route } = request.params;
        const taking = takePayment(parts, {
          processor,
          route,
          ...request.body,
          idempotencyKey: request.headers['idempotency-key'],
          requestId: request.id,
        });
        const answer = await parts.inFlight.add(taking);
        return sendAnswer(reply, answer, `${prefix}/stage/payment/${processor}/${route}/${answer.paymentId}`);
      },
    );

    app.get(
      `${path}/:payment_id`,
      {
        schema: {
          tags,
          summary: 'Tell what became of a payment',
          params: paymentParams,
          querystring: noQuery,
          response: {
            200: answerSchema(paymentState, 'The payment as it stands'),
            '4xx': errorAnswerSchema(),
          },
        },
      },
      async (request, reply) => {
        const { processor, route_id: route, payment_id: id } = request.params;
        findProcessor(parts, processor);
        findRoute(parts, route);
        const payment = await findPayment(parts, id);
        if (payment?.processor !== processor || payment.route !== route)
          throw new ServiceError('payment_not_found');
        return sendEnvelope(reply, success(publicPayment(payment)));
      },
    );
  };
}

function sendAnswer(reply: FastifyReply, answer: PaymentAnswer, location: string): FastifyReply {
  reply.header('payment-id', answer.paymentId).header('location', location);
  if (answer.replayed) reply.header('idempotent-replayed', 'true');
  if (answer.retryAfterSeconds !== undefined) reply.header('retry-after', String(answer.retryAfterSeconds));
  return sendText(reply, answer.status, answer.text);
}

function publicPayment(payment: Payment) {
  return {
    id: payment.id,
    status: payment.state,
    processor: payment.processor,
    amount: payment.amount,
    currency: payment.currency,
    charge_id: payment.chargeId ?? null,
    decline_code: payment.declineCode ?? null,
    created_at: payment.createdAt,
  };
}
