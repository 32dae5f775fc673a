import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { idempotencyScope } from '../../access/permission.ts';
import { success } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import {
  buyersPayment,
  type Payments,
  paymentFieldsBesideError,
  publicPayment,
} from '../../payments/payments.ts';
import type { Payment, UncheckedChargeRequest } from '../../payments/types.ts';
import type { NextAction } from '../../processors/processor.ts';
import { envelopeSchema, errorResponses, noQuery, responseSchema } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Authorizer } from '../server/authorize.ts';
import type { Routes } from '../server/routes.ts';
import { ExactRepeats } from './exact-repeats.ts';
import { listQuery, pageOf } from './payment-list.ts';
import { body, headers } from './payment-request.ts';
import { sendPaymentResponse } from './payment-response.ts';
import {
  chargeHeaders,
  foundPayments,
  paid,
  params,
  paymentBeside,
  paymentParams,
  paymentState,
} from './payment-schemas.ts';

const tags = ['Payments'];

/**
 * Receive a payment (interface.md, 4.1), retrieve and list payments.
 *
 * @param prefix in front of `/stage`
 * @param counts counts charges and declines
 */
export function paymentRoutes(
  payments: Payments,
  prefix: string,
  counts: Pick<Authorizer, 'takeChargeOfKey' | 'noteDecline' | 'buyerAddress'>,
): Routes {
  const path = `${prefix}/stage/payment/:processor/:route_id`;
  const exactRepeats = new ExactRepeats();
  return (app) => {
    app.post(
      path,
      {
        config: { access: 'payments:create', besideError: paymentFieldsBesideError, exactRepeats },
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
              chargeHeaders,
            ),
            ...errorResponses('PaymentErrorResponse', paymentBeside, chargeHeaders),
          },
        },
      },
      async (request, reply) => {
        counts.takeChargeOfKey(request, reply);
        const { body } = request;
        const known = exactRepeats.responseTo(body);
        const { processor, route_id: route } = request.params;
        const response =
          known === undefined
            ? await payments.charge(chargeRequestOf(request, counts.buyerAddress(request)))
            : await payments.traceRepeat({ processor, traceparent: traceparentOf(request) }, known);
        if (known === undefined) exactRepeats.note(request, body, response);
        if (response.countsAsCardTest) counts.noteDecline(request);
        if (request.caller.rights?.kind === 'publishable')
          reply.header('payment-client-secret', response.clientSecret());
        const location = `${prefix}/stage/payment/${processor}/${route}/${response.paymentId}`;
        return sendPaymentResponse(reply, response, location);
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
          const found = await payments.list({ processor, route, ...pageOf(page) });
          const { next } = found;
          const envelope = {
            ...success(found.payments.map(publicPayment)),
            ...(next === undefined ? {} : { next }),
          };
          return sendEnvelope(reply, envelope);
        }
        if (Object.keys(page).length > 0) {
          const message = 'idempotency_key finds one payment; it cannot be combined with other parameters.';
          throw new ServiceError('invalid_request', { param: 'idempotency_key', message });
        }
        const payment = await payments.findByKey({
          processor,
          route,
          caller: idempotencyScope(request.caller),
          key,
        });
        return sendEnvelope(reply, success({ ...publicPayment(payment), ...nextStep(payments, payment) }));
      },
    );

    app.get(
      `${path}/:payment_id`,
      {
        config: {
          access: 'payments:read',
          isClientSecret: ({ processor, route_id: route, payment_id: paymentId }, text) =>
            payments.isClientSecret({ processor, route, paymentId }, text),
        },
        schema: {
          tags,
          operationId: 'getPayment',
          summary: 'Retrieve a payment',
          description:
            'A payment that waits for its cardholder is looked up at the processor first, at most once a second.',
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
        const payment = await payments.find({ processor, route, paymentId });
        const fieldsOf = request.caller.isBuyer ? buyersPayment : publicPayment;
        return sendEnvelope(reply, success({ ...fieldsOf(payment), ...nextStep(payments, payment) }));
      },
    );
  };
}

/** Only who retrieves one payment receives what its cardholder must do: it contains the processor's secret. */
function nextStep(payments: Payments, payment: Payment): { readonly next_action?: NextAction } {
  const next_action = payments.nextAction(payment);
  return next_action === undefined ? {} : { next_action };
}

type ChargeCall = FastifyRequest<{
  Params: { processor: string; route_id: string };
  Body: Static<typeof body>;
  Headers: Static<typeof headers>;
}>;

function chargeRequestOf(
  { params, body, caller, headers, id, raw }: ChargeCall,
  buyerAddress: string | undefined,
): UncheckedChargeRequest {
  const { return_url: returnUrl, statement_descriptor_suffix, receipt_email, ...fields } = body;
  const { rights } = caller;
  return {
    processor: params.processor,
    route: params.route_id,
    ...fields,
    ...(returnUrl === undefined ? {} : { returnUrl }),
    returnOrigins: rights === undefined ? 'loopback' : (rights.origins ?? []),
    statementDescriptorSuffix: statement_descriptor_suffix,
    receiptEmail: receipt_email,
    idempotencyKey: headers['idempotency-key'],
    needsPrice: rights?.kind === 'publishable',
    caller: idempotencyScope(caller),
    buyerAddress,
    requestId: id,
    traceparent: traceparentOf({ raw }),
  };
}

function traceparentOf({ raw }: Pick<FastifyRequest, 'raw'>): string | undefined {
  return raw.headers.traceparent?.toString();
}
