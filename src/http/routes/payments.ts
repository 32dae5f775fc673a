import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { idempotencyScope, requesterFor } from '../../access/permission.ts';
import { audited } from '../../audit/audit.ts';
import { defined } from '../../defined.ts';
import { invalidRequest } from '../../errors.ts';
import { buyersPayment, chargeErrorFields, type Payments, publicPayment } from '../../payments/payments.ts';
import type { Payment, Price, StoredResponse } from '../../payments/types.ts';
import type { NextAction } from '../../processors/processor.ts';
import { sendPage } from '../response/pagination.ts';
import { envelopeSchema, messageResponse, noBody, responseSchema } from '../response/schemas.ts';
import { sendText } from '../response/send.ts';
import type { Authorizer } from '../server/authorize.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';
import {
  chargeRequest,
  chargeSchemas,
  eventParams,
  idempotencyHeaders as headers,
  routeParams as params,
  parseList,
  paymentIn,
  paymentListQuery,
  paymentParams,
  priceQuery,
  refundBody,
  routeIn,
} from './payment-requests.ts';
import {
  chargeHeaders,
  foundPayments,
  paid,
  paymentState,
  priceState,
  refundHeaders,
  refundState,
} from './payment-responses.ts';

/**
 * Receive a payment, retrieve, list, cancel and refund payments, and receive the events of their processors.
 *
 * @param prefix in front of `/stage`
 * @param counts counts charges and declines
 */
export function paymentRoutes(payments: Payments, prefix: string, counts: ChargeCounts): Routes {
  const all = `${prefix}/stage/payment/:processor/:route_id`;
  const one = `${all}/:payment_id`;
  return routeFamily('Payments', [
    // Before `one`, which has the same shape.
    operation('GET', `${all}/price`, 'payments:create', {
      id: 'getPrice',
      summary: 'Read the price of a payment',
      request: { params, query: priceQuery },
      response: responseSchema(priceState, 'The price now'),
      handle: async (request) =>
        publicPrice(await payments.price({ ...routeIn(request), metadata: request.query })),
    }),

    operation('POST', all, 'payments:create', {
      id: 'createPayment',
      summary: 'Receive a payment',
      request: chargeSchemas,
      response: responseSchema(
        paid,
        'The processor confirmed the charge, and that is on disk',
        chargeHeaders,
      ),
      errorHeaders: chargeHeaders,
      legacyErrors: {
        name: 'PaymentErrorResponse',
        schemas: { message: Type.Object({ message: Type.String() }) },
        fields: chargeErrorFields,
      },
      handle: async (request, reply) => {
        counts.takeChargeOfKey(request, reply);
        const response = await payments.charge(chargeRequest(request, counts.buyerAddress(request)));
        if (response.countsAsCardTest) counts.noteDecline(request);
        if (request.caller.rights?.kind === 'publishable')
          reply.header('payment-client-secret', response.clientSecret());
        return send(reply, { ...routeIn(request), paymentId: response.paymentId }, response);
      },
    }),

    operation('GET', all, 'payments:read', {
      id: 'listPayments',
      summary: 'List payments, or find one by its idempotency key',
      request: { params, query: paymentListQuery },
      response: envelopeSchema(
        foundPayments,
        'A page of payments, ordered by creation; or the payment with `idempotency_key`',
      ),
      handle: async (request, reply) => {
        const { idempotency_key: key, ...page } = request.query;
        if (key === undefined) {
          const found = await payments.list({ ...routeIn(request), ...parseList(page) });
          return sendPage(reply, found.payments.map(publicPayment), found.next);
        }
        if (Object.keys(page).length > 0) throw keyIsNotAlone;
        const caller = idempotencyScope(request.caller);
        const payment = await payments.findByKey({ ...routeIn(request), caller, key });
        return { ...publicPayment(payment), ...nextStep(payments, payment) };
      },
    }),

    operation('GET', one, 'payments:read', {
      id: 'getPayment',
      summary: 'Retrieve a payment',
      description:
        'A payment that waits for its cardholder is looked up at the processor first, at most once a second.',
      config: { isClientSecret: (params, text) => payments.isClientSecret(paymentIn({ params }), text) },
      request: { params: paymentParams },
      response: responseSchema(paymentState, 'The payment'),
      handle: async (request) => {
        const payment = await payments.find(paymentIn(request));
        const toPublic = request.caller.isBuyer ? buyersPayment : publicPayment;
        return { ...toPublic(payment), ...nextStep(payments, payment) };
      },
    }),

    operation('POST', `${one}/cancel`, 'payments:refund', {
      id: 'cancelPayment',
      summary: 'Cancel a charge with an unknown outcome, or one that waits for its cardholder',
      description:
        'The service first looks the charge up at the processor. A successful charge is returned as succeeded. ' +
        'A charge that is still in doubt is not sent again, and the service finds out its outcome.',
      request: { params: paymentParams, body: noBody, isBodyOptional: true },
      response: responseSchema(paymentState, 'The payment after the cancellation'),
      handle: async (request) => {
        const payment = paymentIn(request);
        const requester = requesterFor(request.caller, request.id);
        const audit = audited({ what: 'payment.canceled', on: payment.paymentId, ...requester });
        return publicPayment(await payments.cancel(payment, audit));
      },
    }),

    operation('POST', `${one}/refund`, 'payments:refund', {
      id: 'refundPayment',
      summary: 'Refund a payment, or a part of it',
      // Without a body the whole remaining amount is refunded.
      request: { params: paymentParams, headers, body: refundBody, isBodyOptional: true },
      response: responseSchema(
        refundState,
        'The processor accepted the refund, and that is on disk',
        refundHeaders,
      ),
      errorHeaders: refundHeaders,
      handle: async (request, reply) => {
        const { caller, id: requestId } = request;
        const payment = paymentIn(request);
        const act = {
          what: 'payment.refunded',
          on: payment.paymentId,
          ...requesterFor(caller, requestId),
        } as const;
        const response = await payments.refund({
          ...payment,
          amount: request.body.amount,
          idempotencyKey: request.headers['idempotency-key'],
          caller: idempotencyScope(caller),
          requestId,
          audit: (refund) => audited({ ...act, refund }),
        });
        return send(reply.header('refund-id', response.refundId), payment, response);
      },
    }),

    operation('POST', `${prefix}/stage/events/:processor`, 'signed', {
      id: 'receiveProcessorEvent',
      summary: 'Receive an event from a payment processor',
      // The signature covers the exact bytes.
      request: { params: eventParams, query: 'any', bodyType: 'bytes' },
      response: messageResponse(
        'Event taken',
        'The content of the event is on disk, or was there already',
        {},
      ),
      handle: async (request) => {
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        await payments.takeEvent(request.params.processor, { headers: request.headers, body });
        return { message: 'Event taken' };
      },
    }),
  ]);

  /** Sends the response to a charge or a refund. */
  function send(
    reply: FastifyReply,
    { processor, route, paymentId }: ReturnType<typeof paymentIn>,
    {
      status,
      text,
      replayed,
      retryAfterSeconds,
    }: StoredResponse & { replayed: boolean; retryAfterSeconds?: number },
  ): FastifyReply {
    reply.header('payment-id', paymentId);
    reply.header('location', `${prefix}/stage/payment/${processor}/${route}/${paymentId}`);
    if (replayed) reply.header('idempotent-replayed', 'true');
    if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
    return sendText(reply, status, text);
  }
}

type ChargeCounts = Pick<Authorizer, 'takeChargeOfKey' | 'noteDecline' | 'buyerAddress'>;

/** What the cardholder must do. It contains a secret of the processor, so only a caller that retrieves one payment receives it. */
function nextStep(payments: Payments, payment: Payment): { readonly next_action?: NextAction } {
  return defined({ next_action: payments.nextAction(payment) });
}

function publicPrice({ amount, currency, source }: Price) {
  if (source.type !== 'table' || source.quantity === undefined) return { amount, currency };
  return { amount, currency, unit_amount: source.unitAmount, quantity: source.quantity };
}

const keyIsNotAlone = invalidRequest(
  'idempotency_key',
  'idempotency_key finds one payment; it cannot be combined with other parameters.',
);
